// Strict UTF-8 decoding, one step at a time (Unicode 15, table 3-7): overlong forms, surrogates and code points above
// U+10FFFF are invalid; an invalid step covers one maximal ill-formed subpart, as replacement with U+FFFD wants it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attend {

struct Utf8Step {
  uint32_t code_point;  // 0xFFFD when not valid
  uint32_t length;      // bytes consumed, at least 1
  bool valid;
};

// Precondition: position < text.size().
Utf8Step DecodeUtf8(std::string_view text, size_t position);

void AppendUtf8(uint32_t code_point, std::string& out);

// The byte offset of the first ill-formed sequence, or nothing when all of it is valid.
std::optional<size_t> FindInvalidUtf8(std::string_view text);

// Every maximal ill-formed subpart becomes one U+FFFD. Returns how many were replaced.
size_t ReplaceInvalidUtf8(std::string_view text, std::string& out);

}  // namespace attend
