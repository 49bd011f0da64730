#include "text/lines.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/unicode.h"

namespace attend {

LineIndex::LineIndex(std::string_view text) {
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t newline = std::min(text.find('\n', begin), text.size());
    const bool has_return = newline < text.size() && newline > begin && text[newline - 1] == '\r';
    lines_.push_back({begin, has_return ? newline - 1 : newline});
    begin = newline + 1;
  }
  if (lines_.empty()) lines_.push_back({0, 0});
}

size_t LineIndex::LineOf(size_t offset) const {
  const auto after = std::upper_bound(lines_.begin(), lines_.end(), offset,
                                      [](size_t value, const ByteRange& line) { return value < line.begin; });
  return static_cast<size_t>(after - lines_.begin());
}

ByteRange LineIndex::RangeOf(size_t line) const {
  return lines_[std::clamp<size_t>(line, 1, lines_.size()) - 1];
}

ByteRange Trimmed(std::string_view text, ByteRange range) {
  while (range.begin < range.end) {
    const Utf8Step step = DecodeUtf8(text, range.begin);
    if (!IsWhiteSpace(step.code_point)) break;
    range.begin += step.length;
  }
  // White space is one to three bytes long; ill-formed bytes are not white space.
  const auto space_length = [&] {
    for (size_t length = 1; length <= 3 && length <= range.size(); ++length) {
      const Utf8Step step = DecodeUtf8(text, range.end - length);
      if (step.valid && step.length == length) return IsWhiteSpace(step.code_point) ? length : size_t{0};
    }
    return size_t{0};
  };
  for (size_t length = space_length(); length > 0; length = space_length()) range.end -= length;
  return range;
}

}  // namespace attend
