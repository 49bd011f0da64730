// Words of a text for searching it: case-folded runs of letters, marks and digits. A point between two digits stays, a
// comma before three digits goes ("1.5%" is 1.5, "18,400" is 18400). An ideograph, kana or Hangul syllable is a word of
// its own, and each two in a row are one more. Ill-formed UTF-8 separates words. O(n). Nothing can fail.
//
//   SplitWords("Fees: 18,400")   -> fees 18400
//   SplitWords("合同期")          -> 合 合同 同 同期 期
//   SearchTerms("the Fees paid") -> fee paid
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attend {

std::vector<std::string> SplitWords(std::string_view text);

// One of about sixty English words that say nothing about a subject. The word is lower-case.
bool IsStopWord(std::string_view word);

// What a lower-case English word shares with its plural, -ed and -ing forms: terminate, terminated -> terminat;
// parties, party -> party; running, run -> run. It need not be a word. Words with other than ASCII letters come back as
// they are.
std::string Stem(std::string_view word);

// SplitWords without stop words, stemmed.
std::vector<std::string> SearchTerms(std::string_view text);

}  // namespace attend
