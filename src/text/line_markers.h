// The numbers and bullets that lines begin with, and how lines end: what tells a clause from a wrapped line.
#pragma once

#include <cstddef>
#include <string_view>

namespace attend {

// Bytes of the number or bullet that a line begins with, its points and brackets included: "7.2", "1.", "(a)", "iv)",
// "ARTICLE 1.", "-", "第三条"; 0 when it begins with none. The line is trimmed.
size_t MarkerLength(std::string_view line);

// Whether a trimmed line ends as a sentence or clause does: . ! ? ; : and full-width ones, quotes behind them allowed.
bool HasFinalPunctuation(std::string_view line);

// Words that a number or a letter names a part by, in any case: "Schedule A. Work" is two sentences, "ARTICLE 1. TERM"
// one heading.
bool IsPartWord(std::string_view word);

}  // namespace attend
