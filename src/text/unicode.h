// Classes of characters, by the Unicode tables of utf8proc.
#pragma once

#include <cstdint>

namespace attend {

// Unicode's White_Space, which is what \s means to the regex engines that define the pre-tokenisers.
bool IsWhiteSpace(uint32_t code_point);
bool IsLetter(uint32_t code_point);     // \p{L}
bool IsNumber(uint32_t code_point);     // \p{N}
bool IsMark(uint32_t code_point);       // \p{M}
bool IsLowerCase(uint32_t code_point);  // \p{Ll}

// Ideographs, kana and Hangul: scripts whose words no spaces part, or not reliably.
bool IsCjk(uint32_t code_point);

}  // namespace attend
