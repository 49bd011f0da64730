// Memory and time of a request, for any way to cut its document: what the decision compares.
#pragma once

#include <optional>

#include "plan/plan.h"

namespace attend {

// How a document is read: `num_pieces` passes, all of `piece_tokens` document tokens but the last, which has the rest.
struct Cut {
  int64_t num_pieces = 1;
  int64_t piece_tokens = 0;
};

// The fewest pieces of equal size that hold `document_tokens` in at least `num_pieces` parts. Precondition: both >= 1.
Cut EvenCut(int64_t document_tokens, int64_t num_pieces);
// Pieces of `piece_tokens`, the last with the rest.
Cut CutBySize(int64_t document_tokens, int64_t piece_tokens);

// Template, question and answer: what each pass holds beside its piece.
int64_t OverheadTokens(const PlanRequest& request);
// The trained length, or less where the user said so.
int64_t ContextLimit(const PlanRequest& request);

uint64_t ReserveBytes(const PlanRequest& request);
// Split of a pass of `pass_tokens` (piece + question + answer). Pieces follow one another and share this memory.
PlanMemory MemoryOf(const PlanRequest& request, int64_t pass_tokens);
// The most tokens that a pass may hold within usable memory; 0 when not even an empty cache fits.
int64_t LargestPassTokens(const PlanRequest& request);

// Of one device, for all documents at once.
struct Work {
  double linear_flops = 0;
  double attention_flops = 0;
  double prefill_tokens = 0;
  double decode_steps = 0;     // each reads the weights once, for all documents
  double decode_kv_bytes = 0;  // of all steps together
  double evidence_tokens = 0;  // quoting: of all passages, each with its cue and questions
  double evidence_passes = 0;
};
Work WorkOf(const PlanRequest& request, const Cut& cut);

// What a document's passages are taken to be before they are known (document/passage_split.h, likelihood.h): 90 tokens
// each, a cue of 8 and 16 for each question after it. Passes that short reach 0.6 of the matmul rate of whole chunks
// (measured).
inline constexpr double kPassageTokens = 90, kCueTokens = 8, kAskedTokens = 16, kShortPassRate = 0.6;

// Tokens in the cache half way through the answer to the first piece.
int64_t DecodeDepth(const PlanRequest& request, const Cut& cut);

// Bytes that one device sends for a token: two sums over all devices a layer, of hidden values in 16 bits, each sent
// 2 (N - 1) / N times (ring all-reduce).
double TrafficBytesPerToken(const PlanRequest& request);

// Nothing without a calibration.
std::optional<PlanTimes> TimesOf(const PlanRequest& request, const Cut& cut);

// The most document tokens that one pass reads within the time limit; 0: none, no limit, or no calibration.
int64_t LargestInTime(const PlanRequest& request);

}  // namespace attend
