#include "text/words.h"

#include <utf8proc.h>

#include <algorithm>

#include "base/utf8.h"
#include "text/unicode.h"

namespace attend {
namespace {

// Sorted, for binary search.
constexpr std::string_view kStopWords[] = {
    "a",     "about", "after", "all",  "also",  "an",    "and", "any",  "are",  "as",   "at",    "be",    "been",
    "but",   "by",    "can",   "did",  "do",    "does",  "for", "from", "had",  "has",  "have",  "he",    "her",
    "his",   "how",   "i",     "if",   "in",    "into",  "is",  "it",   "its",  "me",   "my",    "of",    "on",
    "or",    "our",   "s",     "she",  "so",    "such",  "t",   "than", "that", "the",  "their", "them",  "then",
    "there", "these", "they",  "this", "those", "to",    "was", "we",   "were", "what", "when",  "where", "which",
    "who",   "whose", "why",   "will", "with",  "would", "you", "your"};

static_assert(std::is_sorted(std::begin(kStopWords), std::end(kStopWords)));

void AppendFolded(uint32_t code_point, std::string& word) {
  // Full-width Latin letters and digits are read as plain ones; other compatibility forms stay apart.
  if (code_point >= 0xff01 && code_point <= 0xff5e) code_point -= 0xfee0;
  utf8proc_int32_t folded[8];
  int boundary = UTF8PROC_BOUNDCLASS_START;
  const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), folded,
                                                         std::size(folded), UTF8PROC_CASEFOLD, &boundary);
  for (utf8proc_ssize_t i = 0; i < std::min<utf8proc_ssize_t>(count, std::size(folded)); ++i) {
    AppendUtf8(static_cast<uint32_t>(folded[i]), word);
  }
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// Exactly three: a group of thousands.
bool HasThreeDigits(std::string_view text) {
  size_t count = 0;
  while (count < text.size() && count < 4 && IsDigit(text[count])) ++count;
  return count == 3;
}

// Whether the point or comma at the position is part of a number.
bool JoinsNumber(std::string_view text, size_t position) {
  const char mark = text[position];
  if ((mark != '.' && mark != ',') || position == 0 || !IsDigit(text[position - 1])) return false;
  return mark == ',' ? HasThreeDigits(text.substr(position + 1))
                     : position + 1 < text.size() && IsDigit(text[position + 1]);
}

bool HasVowel(std::string_view stem) {
  return stem.find_first_of("aeiouy") != std::string_view::npos;
}

// parties -> party, matches -> match, fees -> fee; "ss", "us" and "is" are no plurals.
void StripPlural(std::string& word) {
  const std::string_view view = word;
  if (!view.ends_with('s') || view.ends_with("ss") || view.ends_with("us") || view.ends_with("is")) return;
  if (view.ends_with("ies") && word.size() > 4) {
    word.replace(word.size() - 3, 3, "y");
    return;
  }
  for (const std::string_view ending : {"sses", "xes", "ches", "shes", "zes"}) {
    if (!view.ends_with(ending)) continue;
    word.resize(word.size() - 2);
    return;
  }
  word.pop_back();
}

// stopped -> stop. "ss" and "ff" stay, "ll" is shortened for every word in Stem.
void Undouble(std::string& word) {
  const size_t n = word.size();
  const bool doubled = n > 3 && word[n - 1] == word[n - 2];
  if (doubled && std::string_view("bdgmnprt").find(word[n - 1]) != std::string_view::npos) word.pop_back();
}

void StripPastOrProgressive(std::string& word) {
  const std::string_view view = word;
  if (view.ends_with("ied") && word.size() > 4) {
    word.replace(word.size() - 3, 3, "y");
    return;
  }
  if (view.ends_with("eed")) {
    if (word.size() > 4 && !view.ends_with("ceed")) word.pop_back();  // agreed, but not exceed
    return;
  }
  for (const std::string_view ending : {"ed", "ing"}) {
    if (!view.ends_with(ending)) continue;
    const size_t stem_size = word.size() - ending.size();
    if (stem_size < 3 || !HasVowel(view.substr(0, stem_size))) return;  // red, king, string
    word.resize(stem_size);
    Undouble(word);
    return;
  }
}

}  // namespace

std::vector<std::string> SplitWords(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  std::string last_cjk;  // the character just before, when it was one
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = DecodeUtf8(text, i);
    const uint32_t c = step.code_point;
    std::string cjk;
    if (step.valid && IsCjk(c)) {
      end_word();
      AppendUtf8(c, cjk);
      if (!last_cjk.empty()) words.push_back(last_cjk + cjk);
      words.push_back(cjk);
    } else if (step.valid && (IsLetter(c) || IsNumber(c) || (IsMark(c) && !word.empty()))) {
      AppendFolded(c, word);
    } else if (!word.empty() && JoinsNumber(text, i)) {
      if (c == '.') word += '.';
    } else {
      end_word();
    }
    last_cjk = std::move(cjk);
    i += step.length;
  }
  end_word();
  return words;
}

bool IsStopWord(std::string_view word) {
  return std::binary_search(std::begin(kStopWords), std::end(kStopWords), word);
}

std::string Stem(std::string_view word) {
  std::string stem(word);
  const bool plain = std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if (!plain || word.size() < 4) return stem;
  StripPlural(stem);
  StripPastOrProgressive(stem);
  // Endings that some forms of a word keep and others lose: terminat(e), control(l).
  if (stem.size() > 3 && stem.ends_with('e') && !stem.ends_with("ee")) stem.pop_back();
  if (stem.size() > 3 && stem.ends_with("ll")) stem.pop_back();
  return stem;
}

std::vector<std::string> SearchTerms(std::string_view text) {
  std::vector<std::string> terms;
  for (const std::string& word : SplitWords(text)) {
    if (!IsStopWord(word)) terms.push_back(Stem(word));
  }
  return terms;
}

}  // namespace attend
