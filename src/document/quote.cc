#include "document/quote.h"

#include <algorithm>

#include "document/bm25.h"
#include "document/fusion.h"

namespace attend {
namespace {

constexpr size_t kPassagesQuoted = 3;

// A token carries the white space before its word: a sentence's first token may begin before it.
TokenRange TokensOf(const EvidenceDocument& document, ByteRange range) {
  const std::vector<size_t>& offsets = document.encoding->offsets;
  const auto first = std::upper_bound(offsets.begin(), offsets.end(), range.begin) - offsets.begin() - 1;
  const auto end = std::lower_bound(offsets.begin(), offsets.end(), range.end) - offsets.begin();
  return {std::max<int64_t>(0, first), end};
}

void AppendSentences(const EvidenceDocument& document, const Passage& passage,
                     std::vector<std::span<const uint32_t>>& texts) {
  for (size_t s = passage.first_sentence; s < passage.end_sentence; ++s) {
    const TokenRange tokens = TokensOf(document, document.parts->sentences[s].range);
    texts.push_back(std::span(document.encoding->ids).subspan(tokens.begin, tokens.size()));
  }
}

bool IsHeading(const EvidenceDocument& document, size_t sentence) {
  const ByteRange range = document.parts->sentences[sentence].range;
  return LooksLikeHeading(TextOf(document.text, range), TokensOf(document, range).size());
}

class Quoter {
 public:
  Quoter(const EvidenceDocument& document, const EvidenceModel& model, const EvidenceProgress& keep_going)
      : document_(document), model_(model), keep_going_(keep_going), words_(SentenceTexts(document)) {}

  Result<std::vector<Quote>> QuotesFor(const std::string& question, const Evidence& evidence) {
    std::vector<Quote> quotes;
    if (evidence.nothing) return quotes;
    const std::vector<size_t> counts = SentencesToQuote(evidence);
    const auto passage_of = [&](size_t rank) -> const Passage& {
      return document_.passages[evidence.passages[rank].passage];
    };
    std::vector<std::span<const uint32_t>> texts;
    for (size_t rank = 0; rank < counts.size(); ++rank) AppendSentences(document_, passage_of(rank), texts);
    ATTEND_ASSIGN_OR_RETURN(const auto gains, LikelihoodGains(model_, texts, {&question, 1}, keep_going_));
    const std::vector<double> word_scores = words_.Scores(question);
    size_t first = 0;  // of the passage's sentences in gains
    for (size_t rank = 0; rank < counts.size(); ++rank) {
      const Passage& passage = passage_of(rank);
      const size_t num_sentences = passage.end_sentence - passage.first_sentence;
      const auto word_ranks = RanksOf(std::span(word_scores).subspan(passage.first_sentence, num_sentences));
      const auto gain_ranks = RanksOf(std::span(gains.front()).subspan(first, num_sentences));
      first += num_sentences;
      for (Quote& quote : ChooseSentences(document_, passage, {word_ranks, gain_ranks}, counts[rank])) {
        quote.passage_rank = rank;
        quotes.push_back(quote);
      }
    }
    return quotes;
  }

 private:
  static std::vector<std::string_view> SentenceTexts(const EvidenceDocument& document) {
    std::vector<std::string_view> texts;
    for (const Sentence& sentence : document.parts->sentences) texts.push_back(TextOf(document.text, sentence.range));
    return texts;
  }

  const EvidenceDocument& document_;
  const EvidenceModel& model_;
  const EvidenceProgress& keep_going_;
  const Bm25Index words_;
};

}  // namespace

std::vector<size_t> SentencesToQuote(const Evidence& evidence) {
  if (evidence.passages.empty()) return {};
  const RankedPassage& best = evidence.passages.front();
  if (best.bm25_rank == 1 && best.likelihood_rank == 1 && best.attention_rank <= 1) return {2};
  return std::vector<size_t>(std::min(kPassagesQuoted, evidence.passages.size()), 1);
}

std::vector<Quote> ChooseSentences(const EvidenceDocument& document, const Passage& passage,
                                   const std::vector<std::vector<int64_t>>& rankings, size_t count) {
  const std::vector<double> fused = FuseRanks(rankings);
  std::vector<size_t> order = OrderOf(fused);
  std::stable_partition(order.begin(), order.end(),
                        [&](size_t i) { return !IsHeading(document, passage.first_sentence + i); });
  std::vector<Quote> quotes;
  for (const size_t i : order) {
    const size_t sentence = passage.first_sentence + i;
    if (quotes.size() == count || (!quotes.empty() && IsHeading(document, sentence))) break;
    quotes.push_back({.range = document.parts->sentences[sentence].range,
                      .sentence = sentence,
                      .score = fused[i],
                      .passage_rank = 0});
  }
  std::sort(quotes.begin(), quotes.end(), [](const Quote& a, const Quote& b) { return a.sentence < b.sentence; });
  return quotes;
}

Result<std::vector<QuoteAnswer>> FindQuotes(const EvidenceDocument& document,
                                            std::span<const EvidenceQuestion> questions, const EvidenceModel& model,
                                            const EvidenceProgress& progress) {
  int64_t total = 0;
  const EvidenceProgress of_passages = [&](int64_t done_tokens, int64_t total_tokens) {
    total = total_tokens;
    return !progress || progress(done_tokens, total_tokens);
  };
  ATTEND_ASSIGN_OR_RETURN(std::vector<Evidence> evidence, FindEvidence(document, questions, model, of_passages));
  // A few sentences a question: too little to count, but it can be stopped.
  const EvidenceProgress of_sentences = [&](int64_t, int64_t) { return !progress || progress(total, total); };
  Quoter quoter(document, model, of_sentences);
  std::vector<QuoteAnswer> answers;
  for (size_t q = 0; q < questions.size(); ++q) {
    ATTEND_ASSIGN_OR_RETURN(std::vector<Quote> quotes, quoter.QuotesFor(questions[q].text, evidence[q]));
    answers.push_back({.evidence = std::move(evidence[q]), .quotes = std::move(quotes)});
  }
  return answers;
}

}  // namespace attend
