// A half-open stretch of bytes of one text.
#pragma once

#include <cstddef>
#include <string_view>

namespace attend {

struct ByteRange {
  size_t begin = 0;
  size_t end = 0;

  size_t size() const { return end - begin; }
  bool operator==(const ByteRange&) const = default;
};

inline std::string_view TextOf(std::string_view text, ByteRange range) {
  return text.substr(range.begin, range.size());
}

}  // namespace attend
