// Answers that cannot be invented: sentences of the document, verbatim, or that nothing in it answers.
#pragma once

#include <span>
#include <vector>

#include "document/evidence.h"

namespace attend {

struct Quote {
  ByteRange range;           // one sentence of the document, verbatim
  size_t sentence = 0;       // index into TextParts::sentences
  double score = 0;          // fused rank score within its passage, higher is better
  size_t passage_rank = 0;   // index into Evidence::passages: 0 = from the best passage
};

struct QuoteAnswer {
  Evidence evidence;
  std::vector<Quote> quotes;  // 1 to 3 in the order of the document's text within a passage, best passage first; none: nothing
};

// One for each question. Errors: those of FindEvidence.
Result<std::vector<QuoteAnswer>> FindQuotes(const EvidenceDocument& document, std::span<const EvidenceQuestion> questions,
                                            const EvidenceModel& model, const EvidenceProgress& progress = {});

}  // namespace attend
