// Exact parts of the attention matrix on demand: rows, columns and rectangles, from q, K and the lse of a run. What the
// matrix would hold, to float32 rounding: exp(score - lse), 0 where the mask hides a key.
#pragma once

#include "attention/run.h"

namespace attend {

struct WeightsRectangle {
  int64_t sequence = 0;
  int64_t q_head = 0;
  KeyRange tokens;  // of the sequence
  KeyRange keys;
};

// Writes weights [tokens, keys]. lse [num_tokens, num_q_heads] as RunAttention wrote it. Memory: O(96 x head_dim).
// Errors: attention_bad_shape for a rectangle outside the sequence.
Result<void> AttentionWeights(const AttentionSchedule& schedule, const AttentionQueries& queries,
                              std::span<const KvView> caches, const float* lse, const WeightsRectangle& rectangle,
                              const KernelTable& kernels, float* weights);

}  // namespace attend
