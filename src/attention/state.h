// The result of attention over some keys is a state: a row of output and its log-sum-exp. States over disjoint keys
// merge exactly; the empty state is (out 0, lse -inf). Merging is associative, so split keys, chunks, shared prefixes
// and ranks of a distributed run are all this.
//   out = sum_i exp(lse_i - lse) out_i,   lse = ln sum_i exp(lse_i)
#pragma once

#include <cstdint>
#include <span>

namespace attend {

struct AttentionState {
  const float* out;  // [width]
  float lse;         // natural log
};

// Writes the merged row to out [width] and returns its lse. Sums run in the order given. NaN in a state reaches the
// result.
float MergeStates(std::span<const AttentionState> states, int64_t width, float* out);

// ln(exp(a) + exp(b)); -inf is nothing.
float MergeLse(float a, float b);

}  // namespace attend
