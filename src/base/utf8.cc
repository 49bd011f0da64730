#include "base/utf8.h"

namespace attend {

Utf8Step DecodeUtf8(std::string_view text, size_t position) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[position + i]); };
  const size_t left = text.size() - position;
  const uint8_t first = byte(0);
  if (first < 0x80) return {first, 1, true};

  uint32_t continuation_count = 0;
  uint8_t low = 0x80, high = 0xbf;  // allowed range of the second byte
  uint32_t code_point = 0;
  if (first >= 0xc2 && first <= 0xdf) {
    continuation_count = 1;
    code_point = first & 0x1f;
  } else if (first >= 0xe0 && first <= 0xef) {
    continuation_count = 2;
    code_point = first & 0x0f;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    continuation_count = 3;
    code_point = first & 0x07;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  } else {
    return {0xfffd, 1, false};
  }
  for (uint32_t i = 1; i <= continuation_count; ++i) {
    if (i >= left || byte(i) < low || byte(i) > high) return {0xfffd, i, false};
    code_point = (code_point << 6) | (byte(i) & 0x3f);
    low = 0x80;
    high = 0xbf;
  }
  return {code_point, continuation_count + 1, true};
}

void AppendUtf8(uint32_t code_point, std::string& out) {
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xc0 | (code_point >> 6));
    out += static_cast<char>(0x80 | (code_point & 0x3f));
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xe0 | (code_point >> 12));
    out += static_cast<char>(0x80 | ((code_point >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code_point & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code_point >> 18));
    out += static_cast<char>(0x80 | ((code_point >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code_point >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code_point & 0x3f));
  }
}

std::optional<size_t> FindInvalidUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = DecodeUtf8(text, i);
    if (!step.valid) return i;
    i += step.length;
  }
  return std::nullopt;
}

size_t ReplaceInvalidUtf8(std::string_view text, std::string& out) {
  size_t replaced = 0;
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = DecodeUtf8(text, i);
    if (step.valid) {
      out.append(text.substr(i, step.length));
    } else {
      AppendUtf8(0xfffd, out);
      ++replaced;
    }
    i += step.length;
  }
  return replaced;
}

}  // namespace attend
