// Byte offsets of a text to line numbers and back. A line ends at "\n"; the "\r" of "\r\n" belongs to the line end.
// Building is O(n), LineOf O(log lines). Nothing can fail.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "text/byte_range.h"

namespace attend {

class LineIndex {
 public:
  // Keeps offsets only, not the text.
  explicit LineIndex(std::string_view text);

  // At least 1. A newline at the very end starts no further line.
  size_t num_lines() const { return lines_.size(); }

  // 1-based number of the line that holds the byte; a line's own end belongs to it. Past the text: the last line.
  size_t LineOf(size_t offset) const;

  // Bytes of a line (1-based) without its line end. Numbers outside the text: the nearest line.
  ByteRange RangeOf(size_t line) const;

 private:
  std::vector<ByteRange> lines_;
};

// The range without white space (Unicode's) at its ends.
ByteRange Trimmed(std::string_view text, ByteRange range);

}  // namespace attend
