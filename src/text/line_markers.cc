#include "text/line_markers.h"

#include <algorithm>
#include <string>

#include "base/utf8.h"
#include "text/unicode.h"

namespace attend {
namespace {

constexpr std::string_view kPartWords[] = {"article", "section", "clause",   "schedule", "chapter",
                                           "part",    "annex",   "appendix", "exhibit",  "paragraph",
                                           "table",   "figure",  "option",   "class"};
constexpr size_t kLongestPartWord = 9;
constexpr std::string_view kRomanLetters = "ivxIVX";

bool IsAsciiLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool IsAsciiDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsSpaceAt(std::string_view text, size_t position) {
  return IsWhiteSpace(DecodeUtf8(text, position).code_point);
}

// Bytes of a number with points (7, 7.2), one letter or a short Roman numeral at the start of the text.
size_t NumberLength(std::string_view text, bool& has_point) {
  size_t end = 0;
  has_point = false;
  while (end < text.size() &&
         (IsAsciiDigit(text[end]) || (text[end] == '.' && end + 1 < text.size() && IsAsciiDigit(text[end + 1])))) {
    has_point |= text[end] == '.';
    ++end;
  }
  if (end > 0) return text[0] == '.' ? 0 : end;
  while (end < text.size() && end < 5 && kRomanLetters.find(text[end]) != std::string_view::npos) ++end;
  if (end > 0 && (end == text.size() || !IsAsciiLetter(text[end]))) return end;
  return !text.empty() && IsAsciiLetter(text[0]) && (text.size() == 1 || !IsAsciiLetter(text[1])) ? 1 : 0;
}

bool SpaceOrEnd(std::string_view text, size_t position) {
  return position >= text.size() || IsSpaceAt(text, position);
}

// "ARTICLE 1.", "Section 7:", "Schedule A".
size_t PartHeadingLength(std::string_view line) {
  size_t word = 0;
  while (word < line.size() && word < kLongestPartWord + 1 && IsAsciiLetter(line[word])) ++word;
  if (word + 1 >= line.size() || line[word] != ' ' || !IsPartWord(line.substr(0, word))) return 0;
  bool has_point = false;
  const size_t number = NumberLength(line.substr(word + 1), has_point);
  if (number == 0) return 0;
  size_t end = word + 1 + number;
  if (end < line.size() && (line[end] == '.' || line[end] == ':')) ++end;
  return SpaceOrEnd(line, end) ? end : 0;
}

// "第三条", "第12章".
size_t ChinesePartLength(std::string_view line) {
  constexpr size_t kLongestPart = 30;
  if (!line.starts_with("第")) return 0;
  for (size_t i = 3; i < std::min(line.size(), kLongestPart); i += DecodeUtf8(line, i).length) {
    for (const std::string_view unit : {"条", "章", "节", "款"}) {
      if (line.substr(i).starts_with(unit)) return i + unit.size();
    }
  }
  return 0;
}

}  // namespace

bool IsPartWord(std::string_view word) {
  if (word.size() > kLongestPartWord) return false;
  std::string lower(word);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return std::find(std::begin(kPartWords), std::end(kPartWords), lower) != std::end(kPartWords);
}

size_t MarkerLength(std::string_view line) {
  for (const std::string_view bullet : {"-", "*", "•", "–", "—"}) {
    if (line.starts_with(bullet) && line.size() > bullet.size() && IsSpaceAt(line, bullet.size())) return bullet.size();
  }
  if (const size_t length = std::max(ChinesePartLength(line), PartHeadingLength(line)); length > 0) return length;
  const size_t open = line.starts_with('(') ? 1 : 0;
  bool has_point = false;
  const size_t number = NumberLength(line.substr(open), has_point);
  if (number == 0) return 0;
  const size_t end = open + number;
  const char after = end < line.size() ? line[end] : '\0';
  if (after == ')' || (after == '.' && open == 0)) return SpaceOrEnd(line, end + 1) ? end + 1 : 0;
  if (open == 0 && line.substr(end).starts_with("、")) return end + std::string_view("、").size();
  return open == 0 && has_point && SpaceOrEnd(line, end) ? end : 0;
}

bool HasFinalPunctuation(std::string_view line) {
  constexpr std::string_view kEnds[] = {".", "!", "?", ";", ":", "。", "！", "？", "；", "："};
  constexpr std::string_view kClosers[] = {"\"", "'", ")", "”", "’", "」", "）"};
  const auto ends_with = [&](std::string_view ending) { return line.ends_with(ending); };
  for (const std::string_view closer : kClosers) {
    if (line.ends_with(closer)) line.remove_suffix(closer.size());
  }
  return std::any_of(std::begin(kEnds), std::end(kEnds), ends_with);
}

}  // namespace attend
