#include "document/passage_split.h"

#include <algorithm>

#include "text/line_markers.h"

namespace attend {
namespace {

constexpr int64_t kHeadingTokens = 16;  // a line longer than this is no heading
// A heading starts a new subject: what stands before it is then closed at fewer tokens than min_tokens.
constexpr int64_t kTokensBeforeHeading = 16;

// First token of each sentence, and one past the last token of the document.
std::vector<int64_t> SentenceTokens(const Encoding& encoding, const TextParts& parts) {
  std::vector<int64_t> starts;
  for (const Sentence& sentence : parts.sentences) {
    // A token carries the white space before its word: the last token that starts at or before the sentence.
    const auto after = std::upper_bound(encoding.offsets.begin(), encoding.offsets.end(), sentence.range.begin);
    starts.push_back(starts.empty() ? 0 : std::max<int64_t>(starts.back(), after - encoding.offsets.begin() - 1));
  }
  starts.push_back(static_cast<int64_t>(encoding.ids.size()));
  return starts;
}

bool EndsLikeASentence(std::string_view text) {
  for (const std::string_view mark : {".", "!", "?", ";", ":", ",", "\"", ")", "。", "！", "？", "；", "：", "”"}) {
    if (text.ends_with(mark)) return true;
  }
  return false;
}

// "2. Basic Permissions.": a number, then words that all begin with a capital, short ones such as "of" apart.
bool IsNumberedTitle(std::string_view sentence) {
  constexpr size_t kShortWord = 4;
  const size_t marker = MarkerLength(sentence);
  if (marker == 0 || sentence.starts_with('(')) return false;
  std::string_view words = sentence.substr(marker);
  bool any = false;
  while (!words.empty()) {
    const size_t length = std::min(words.find(' '), words.size());
    const bool is_capital = words[0] >= 'A' && words[0] <= 'Z';
    if (length > kShortWord && !is_capital) return false;
    any |= is_capital;
    words.remove_prefix(std::min(length + 1, words.size()));
  }
  return any;
}

class Splitter {
 public:
  Splitter(std::string_view text, const TextParts& parts, std::vector<int64_t> starts, const PassageLimits& limits)
      : text_(text), parts_(parts), starts_(std::move(starts)), limits_(limits) {}

  std::vector<Passage> Split() {
    const std::vector<Sentence>& sentences = parts_.sentences;
    for (size_t first = 0, end = 0; first < sentences.size(); first = end) {
      for (end = first; end < sentences.size() && sentences[end].paragraph == sentences[first].paragraph; ++end) {
      }
      AddParagraph(first, end);
    }
    Close(sentences.size());
    return std::move(passages_);
  }

 private:
  int64_t Tokens(size_t first, size_t end) const { return starts_[end] - starts_[first]; }

  bool IsHeading(size_t first, size_t end) const {
    return end - first == 1 && LooksLikeHeading(TextOf(text_, parts_.sentences[first].range), Tokens(first, end));
  }

  void AddParagraph(size_t first, size_t end) {
    const bool heading = IsHeading(first, end);
    const int64_t open = Tokens(begin_, first);
    if (!after_heading_ && open >= (heading ? kTokensBeforeHeading : limits_.min_tokens)) Close(first);
    if (!after_heading_ && Tokens(begin_, end) > limits_.max_tokens && open > 0) Close(first);
    after_heading_ = heading;
    if (Tokens(begin_, end) > limits_.max_tokens) SplitLong(end);
  }

  // Closes passages of about equal size within the open sentences up to `end`; the last stays open.
  void SplitLong(size_t end) {
    const int64_t total = Tokens(begin_, end);
    const int64_t num_parts = (total + limits_.max_tokens - 1) / limits_.max_tokens;
    const int64_t target = total / num_parts;
    for (size_t next = begin_ + 1; next < end; ++next) {
      // The border falls where the part is nearest to its target.
      if (2 * Tokens(begin_, next) + Tokens(next, next + 1) >= 2 * target && Tokens(next, end) >= limits_.min_tokens)
        Close(next);
    }
  }

  void Close(size_t end) {
    if (end == begin_) return;
    passages_.push_back({.range = {parts_.sentences[begin_].range.begin, parts_.sentences[end - 1].range.end},
                         .tokens = {starts_[begin_], starts_[end]},
                         .first_sentence = begin_,
                         .end_sentence = end});
    begin_ = end;
  }

  std::string_view text_;
  const TextParts& parts_;
  const std::vector<int64_t> starts_;
  const PassageLimits limits_;
  std::vector<Passage> passages_;
  size_t begin_ = 0;  // first sentence of the open passage
  bool after_heading_ = false;
};

}  // namespace

bool LooksLikeHeading(std::string_view sentence, int64_t num_tokens) {
  return num_tokens <= kHeadingTokens && (!EndsLikeASentence(sentence) || IsNumberedTitle(sentence));
}

std::vector<Passage> SplitPassages(std::string_view text, const Encoding& encoding, const TextParts& parts,
                                   const PassageLimits& limits) {
  return Splitter(text, parts, SentenceTokens(encoding, parts), limits).Split();
}

}  // namespace attend
