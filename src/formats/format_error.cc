#include "formats/format_error.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "formats/tensor_entry.h"

namespace attend {

tl::unexpected<Error> FormatError(ErrorCode code, std::string where, std::string subject, std::string expected,
                                  std::string found, std::optional<uint64_t> byte_offset, std::string hint) {
  return tl::unexpected(Error{.code = code,
                              .where = std::move(where),
                              .subject = std::move(subject),
                              .expected = std::move(expected),
                              .found = std::move(found),
                              .hint = std::move(hint),
                              .byte_offset = byte_offset});
}

std::string Quote(std::string_view text) {
  constexpr size_t kMaxBytes = 80;
  std::string quoted = "'";
  quoted += text.substr(0, kMaxBytes);
  quoted += text.size() > kMaxBytes ? "...'" : "'";
  return quoted;
}

std::string Subject(std::string_view kind, std::string_view name) {
  return std::string(kind) + " " + Quote(name);
}

std::optional<std::string> FaultOfName(std::string_view text) {
  if (text.empty()) return "an empty name";
  const auto is_control = [](char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), is_control)) return "a control character in " + Quote(text);
  if (FindInvalidUtf8(text)) return "invalid UTF-8 in " + Quote(text);
  return std::nullopt;
}

std::string ShapeText(const std::vector<uint64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace attend
