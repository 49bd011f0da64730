// The decision alone: which cut of the document, if any, keeps to context, memory and time, and what rules out the
// better ones.
//   1. pieces of the size that the user fixed, or
//   2. one pass, or
//   3. the fewest pieces of equal size, each with question and answer inside context and memory, all inside the time
//   limit; none
//      below kMinPieceTokens.
// More memory, context or time never gives more pieces or a worse verdict.
#pragma once

#include "plan/budget.h"
#include "plan/plan.h"

namespace attend {

struct Decision {
  Verdict verdict = Verdict::kRefused;
  Limit limit = Limit::kNone;      // what rules out one pass; refused: what rules out everything
  Cut cut;                         // refused: the cut that comes closest
  int64_t piece_limit_tokens = 0;  // most document tokens in a pass, by context and memory; may be negative
};

// Precondition: the request is one that MakePlan accepts.
Decision Decide(const PlanRequest& request);

}  // namespace attend
