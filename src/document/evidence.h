// Which passages of a document answer a question, by up to three rules that fail on different questions, fused by rank:
//
//   bm25        words of the question in the passage (bm25.h)
//   likelihood  ln p(question | passage) - ln p(question), per token of the question (likelihood.h)
//   attention   mass of the question's tokens on the passage minus that of a question without content, over the few
//   heads of
//               the model that retrieve (evidence_heads.h); absent for a model whose heads are not known
//
// and whether the document answers it at all. Right passages on tests/data/dev, to which the heads were fitted (34
// questions, SmolLM2-135M; first / in the first three): bm25 22 / 27, likelihood 26 / 31, attention 26 / 32, all three
// fused 29 / 32. On texts that nothing was fitted to: docs/guide/quote.md.
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
  std::vector<double> neutral_mass;    // as EvidenceQuestion::mass, of kNeutralQuestion; empty: no attention rule
};

// Asked like a question, once a piece: what it looks at has nothing to do with any question.
inline constexpr std::string_view kNeutralQuestion = "N/A";

struct EvidenceQuestion {
  std::string text;
  // [document tokens] AttendedMass over RetrievalHeads of the tokens of DocumentPrompt::After(text), divided by their
  // number; pieces one after the other. Empty: no attention rule.
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

// What says whether the best passage answers at all. Each alone is weak.
struct AnswerSignals {
  double agreement = 0;   // mean over the rules of 6 / (5 + rank): 1 when all put it first
  double coverage = 0;    // share of the question's words in it, by rarity (Bm25Index::Coverage)
  double deviations = 0;  // its likelihood gain above the mean of all passages, in standard deviations
};

// agreement + coverage / 2 + deviations / 8. Below kLeastConfidence nothing answers.
double ConfidenceOf(const AnswerSignals& signals);

// Fitted to tests/data/dev, where "nothing" is said to 14 of 20 questions without an answer and, wrongly, to 3 of 34
// with one.
inline constexpr double kLeastConfidence = 1.1;

struct Evidence {
  bool nothing = true;                  // nothing in the document answers
  double confidence = 0;                // ConfidenceOf the best passage
  std::vector<RankedPassage> passages;  // all, best first
};

// One for each question. Errors: those of Transformer::Forward; interrupted when progress says no.
Result<std::vector<Evidence>> FindEvidence(const EvidenceDocument& document,
                                           std::span<const EvidenceQuestion> questions, const EvidenceModel& model,
                                           const EvidenceProgress& progress = {});

}  // namespace attend
