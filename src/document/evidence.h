// Which passages of a document answer a question, by up to three rules that fail on different questions, fused by rank:
//
//   bm25        words of the question in the passage (bm25.h)
//   likelihood  ln p(question | passage) - ln p(question), per token of the question (likelihood.h)
//   attention   mass of the question's tokens on the passage minus that of a question without content, over the few heads of
//               the model that retrieve (evidence_heads.h); absent for a model whose heads are not known
//
// and whether the document answers it at all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "document/likelihood.h"
#include "document/passage_split.h"

namespace attend {

struct EvidenceDocument {
  std::string_view text;
  const Encoding* encoding = nullptr;  // of text
  const TextParts* parts = nullptr;    // of text
  std::vector<Passage> passages;       // SplitPassages(text, *encoding, *parts)
  std::vector<TokenRange> pieces;      // how it was read; one piece that covers all when in one pass
  // Mass of the question kNeutralQuestion on each token of the document, as EvidenceQuestion::mass; empty: no attention rule.
  std::vector<double> neutral_mass;
};

// Run like a question, through DocumentPrompt::After, once a piece.
inline constexpr std::string_view kNeutralQuestion = "N/A";

struct EvidenceQuestion {
  std::string text;
  // [document tokens] AttendedMass::mass() of the tokens of DocumentPrompt::After(text) over RetrievalHeads, without the keys
  // before the document, divided by num_tokens(); pieces one after the other. Empty: no attention rule.
  std::vector<double> mass;
};

// A passage with its place in each rule, 1 = best.
struct RankedPassage {
  size_t passage = 0;  // index into EvidenceDocument::passages
  double score = 0;    // fused, sum of 1 / (5 + rank)
  int64_t bm25_rank = 0;
  int64_t likelihood_rank = 0;
  int64_t attention_rank = 0;  // 0: the rule was not used
  double likelihood_gain = 0;  // nats per token of the question
};

struct Evidence {
  bool nothing = false;                // nothing in the document answers
  std::vector<RankedPassage> passages;  // all, best first
};

// One for each question. Errors: those of Transformer::Forward; interrupted when progress says no.
Result<std::vector<Evidence>> FindEvidence(const EvidenceDocument& document, std::span<const EvidenceQuestion> questions,
                                           const EvidenceModel& model, const EvidenceProgress& progress = {});

}  // namespace attend
