#include "text/sentence_ends.h"

#include <algorithm>
#include <string>

#include "base/utf8.h"
#include "text/line_markers.h"
#include "text/lines.h"
#include "text/unicode.h"

namespace attend {
namespace {

// Abbreviations whose point ends no sentence (without their last point, lower-case).
constexpr std::string_view kAbbreviations[] = {"e.g", "i.e",  "cf",  "viz",    "vs",   "v",    "mr",     "mrs", "ms",
                                               "dr",  "prof", "st",  "sr",     "jr",   "hon",  "messrs", "ltd", "inc",
                                               "co",  "corp", "plc", "llc",    "gmbh", "bros", "dept",   "u.s", "u.k",
                                               "e.u", "u.n",  "eds", "approx", "incl", "excl", "al"};
// Those that are words too, or name a number: abbreviations only before a digit.
constexpr std::string_view kBeforeNumbers[] = {
    "no", "nos", "art", "arts", "sec", "secs", "cl",  "para", "paras", "ch",  "fig",  "figs", "eq",  "vol",
    "pp", "p",   "max", "min",  "jan", "feb",  "mar", "apr",  "aug",   "sep", "sept", "oct",  "nov", "dec"};
constexpr size_t kLongestAbbreviation = 12;

template <size_t N>
bool Contains(const std::string_view (&list)[N], std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

bool IsAsciiLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool IsAsciiDigit(char c) {
  return c >= '0' && c <= '9';
}

std::string LowerAscii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return lower;
}

bool EndsSentence(uint32_t c) {
  return c == '.' || c == '!' || c == '?' || c == 0x3002 || c == 0xff01 || c == 0xff1f || c == 0x2026;
}

bool IsFullWidthEnd(uint32_t c) {
  return c == 0x3002 || c == 0xff01 || c == 0xff1f;
}

bool ClosesQuote(uint32_t c) {
  return c == '"' || c == '\'' || c == ')' || c == ']' || c == 0x201d || c == 0x2019 || c == 0xbb || c == 0x300d ||
         c == 0x300f || c == 0xff09 || c == 0x300b || c == 0x3011;
}

bool OpensQuote(uint32_t c) {
  return c == '"' || c == '\'' || c == '(' || c == '[' || c == 0x201c || c == 0x2018 || c == 0xab;
}

// The run of letters, digits and points that ends just before the position, at most a little longer than an
// abbreviation.
std::string_view WordBefore(std::string_view text, size_t begin, size_t position) {
  size_t start = position;
  while (start > begin && position - start <= kLongestAbbreviation) {
    const char c = text[start - 1];
    if (!IsAsciiLetter(c) && !IsAsciiDigit(c) && c != '.' && static_cast<unsigned char>(c) < 0x80) break;
    --start;
  }
  return text.substr(start, position - start);
}

// Whether the one-letter word before the point at `position` names a part ("Schedule A."), not a person ("J. Smith").
bool LetterNamesPart(std::string_view text, size_t begin, size_t position) {
  size_t end = position - 1;
  while (end > begin && text[end - 1] == ' ') --end;
  return end < position - 1 && IsPartWord(WordBefore(text, begin, end));
}

// Whether the point at `position` belongs to the word before it. `next` is the first character of the next word.
bool PointBelongsToWord(std::string_view text, ByteRange stretch, size_t position, uint32_t next) {
  const std::string_view word = WordBefore(text, stretch.begin, position);
  const std::string lower = LowerAscii(word);
  if (Contains(kAbbreviations, lower)) return true;
  if (Contains(kBeforeNumbers, lower)) return IsNumber(next);
  return word.size() == 1 && IsAsciiLetter(word[0]) && !LetterNamesPart(text, stretch.begin, position);
}

struct End {
  size_t after;       // first byte behind the sentence's marks and closing quotes
  bool full_width;    // needs no space behind it
  bool single_point;  // "." alone, which may belong to a word
};

// Reads the marks that begin at the position.
End ReadMarks(std::string_view text, size_t position, size_t limit) {
  End end = {position, false, false};
  size_t num_marks = 0;
  while (end.after < limit) {
    const Utf8Step step = DecodeUtf8(text, end.after);
    if (!EndsSentence(step.code_point)) break;
    end.full_width |= IsFullWidthEnd(step.code_point);
    ++num_marks;
    end.after += step.length;
  }
  end.single_point = num_marks == 1 && text[position] == '.';
  while (end.after < limit && ClosesQuote(DecodeUtf8(text, end.after).code_point))
    end.after += DecodeUtf8(text, end.after).length;
  return end;
}

// The first character of the next word, opening quotes skipped; 0 at the end of the stretch.
uint32_t NextWordStart(std::string_view text, size_t position, size_t limit) {
  while (position < limit) {
    const Utf8Step step = DecodeUtf8(text, position);
    if (!IsWhiteSpace(step.code_point) && !OpensQuote(step.code_point)) return step.code_point;
    position += step.length;
  }
  return 0;
}

bool IsSentenceEnd(std::string_view text, ByteRange stretch, size_t position, const End& end) {
  if (end.full_width) return true;
  if (end.after < stretch.end && !IsWhiteSpace(DecodeUtf8(text, end.after).code_point)) return false;
  const uint32_t next = NextWordStart(text, end.after, stretch.end);
  if (next == 0) return true;
  if (IsLowerCase(next)) return false;
  return !end.single_point || !PointBelongsToWord(text, stretch, position, next);
}

}  // namespace

void AppendSentences(std::string_view text, ByteRange stretch, std::vector<ByteRange>& sentences) {
  stretch = Trimmed(text, stretch);
  size_t begin = stretch.begin;
  size_t position = stretch.begin + MarkerLength(TextOf(text, stretch));
  while (position < stretch.end) {
    const Utf8Step step = DecodeUtf8(text, position);
    if (!EndsSentence(step.code_point)) {
      position += step.length;
      continue;
    }
    const End end = ReadMarks(text, position, stretch.end);
    if (IsSentenceEnd(text, stretch, position, end)) {
      sentences.push_back(Trimmed(text, {begin, end.after}));
      begin = end.after;
    }
    position = end.after;
  }
  const ByteRange rest = Trimmed(text, {begin, stretch.end});
  if (rest.size() > 0) sentences.push_back(rest);
}

}  // namespace attend
