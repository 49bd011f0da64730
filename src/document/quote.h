// Answers that cannot be invented: sentences of the document, verbatim, or that nothing in it answers.
#pragma once

#include <span>
#include <vector>

#include "document/evidence.h"

namespace attend {

struct Quote {
  ByteRange range;          // one sentence of the document, verbatim
  size_t sentence = 0;      // index into TextParts::sentences
  double score = 0;         // fused over the rules within its passage, higher is better
  size_t passage_rank = 0;  // index into Evidence::passages: 0 = from the best passage
};

struct QuoteAnswer {
  Evidence evidence;
  std::vector<Quote>
      quotes;  // 1 to 3, best passage first, those of one passage in the order of the text; none: nothing
};

// How many sentences of the best, second and third passage to quote. Where all rules put one passage first its two best
// sentences are quoted and nothing else, otherwise the best sentence of each of the three best passages.
std::vector<size_t> SentencesToQuote(const Evidence& evidence);

// The `count` sentences of a passage that all rules together put first. `rankings`: of its sentences, by each rule.
// Headings are taken only where there is nothing else.
std::vector<Quote> ChooseSentences(const EvidenceDocument& document, const Passage& passage,
                                   const std::vector<std::vector<int64_t>>& rankings, size_t count);

// One for each question. Sentences are ranked by words and by the likelihood of the question given the sentence alone.
// Errors: those of FindEvidence.
Result<std::vector<QuoteAnswer>> FindQuotes(const EvidenceDocument& document,
                                            std::span<const EvidenceQuestion> questions, const EvidenceModel& model,
                                            const EvidenceProgress& progress = {});

}  // namespace attend
