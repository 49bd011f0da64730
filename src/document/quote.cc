#include "document/quote.h"

#include <algorithm>

#include "document/bm25.h"
#include "document/fusion.h"

namespace attend {
namespace {

constexpr size_t kPassagesQuoted = 2;

// Tokens of each sentence of a passage.
std::vector<std::span<const uint32_t>> SentenceTokens(const EvidenceDocument& document, const Passage& passage) {
  const std::vector<size_t>& offsets = document.encoding->offsets;
  std::vector<std::span<const uint32_t>> texts;
  for (size_t s = passage.first_sentence; s < passage.end_sentence; ++s) {
    const ByteRange range = document.parts->sentences[s].range;
    const auto first = std::upper_bound(offsets.begin(), offsets.end(), range.begin) - 1 - offsets.begin();
    const auto end = std::lower_bound(offsets.begin(), offsets.end(), range.end) - offsets.begin();
    texts.push_back(std::span(document.encoding->ids).subspan(first, end - first));
  }
  return texts;
}

}  // namespace

Result<std::vector<QuoteAnswer>> FindQuotes(const EvidenceDocument& document, std::span<const EvidenceQuestion> questions,
                                            const EvidenceModel& model, const EvidenceProgress& progress) {
  ATTEND_ASSIGN_OR_RETURN(std::vector<Evidence> evidence, FindEvidence(document, questions, model, progress));
  std::vector<std::string_view> sentence_texts;
  for (const Sentence& sentence : document.parts->sentences) sentence_texts.push_back(TextOf(document.text, sentence.range));
  const Bm25Index words(sentence_texts);

  std::vector<QuoteAnswer> answers;
  for (size_t q = 0; q < questions.size(); ++q) {
    QuoteAnswer answer{.evidence = std::move(evidence[q]), .quotes = {}};
    const std::vector<double> word_scores = words.Scores(questions[q].text);
    const size_t num_passages = answer.evidence.nothing ? 0 : std::min(kPassagesQuoted, answer.evidence.passages.size());
    for (size_t rank = 0; rank < num_passages; ++rank) {
      const Passage& passage = document.passages[answer.evidence.passages[rank].passage];
      ATTEND_ASSIGN_OR_RETURN(const auto gains, LikelihoodGains(model, SentenceTokens(document, passage), {&questions[q].text, 1}));
      const std::span in_passage = std::span(word_scores).subspan(passage.first_sentence, passage.end_sentence - passage.first_sentence);
      const std::vector<double> fused = FuseRanks({RanksOf(in_passage), RanksOf(gains[0])});
      const size_t best = OrderOf(fused).front();
      const size_t sentence = passage.first_sentence + best;
      answer.quotes.push_back(
          {.range = document.parts->sentences[sentence].range, .sentence = sentence, .score = fused[best], .passage_rank = rank});
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace attend
