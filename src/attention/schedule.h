// The list of work units of one attention call: (sequence, kv head, rows, keys). All query heads that share a kv head
// are rows of one small matmul (row = token * group_size + head in group), so one query token and thousands take the
// same path.
//
// Units depend on each sequence alone, never on its neighbours or on the number of threads: a request gives the same
// bits alone or in a batch. Few rows over many keys are split along the keys and merged (kKvChunkTokens).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/mask.h"
#include "base/error.h"
#include "tensor/compute.h"

namespace attend {

inline constexpr int64_t kRowTile = 96;         // rows of a unit at most
inline constexpr int64_t kKvChunkTokens = 512;  // keys of a unit when keys are split; a multiple of 64

struct AttentionShape {
  int64_t num_q_heads = 0;
  int64_t num_kv_heads = 0;  // divides num_q_heads
  int64_t head_dim = 0;
  int64_t v_head_dim = 0;            // 0: head_dim
  std::span<const int64_t> q_lens;   // tokens of each sequence in the query batch
  std::span<const int64_t> kv_lens;  // keys of each sequence
};

struct AttentionOptions {
  Mask mask = Mask::Causal();
  float softmax_scale = 0;  // positive; 0: 1 / sqrt(head_dim)
  Compute compute = Compute::kBf16;
};

struct AttentionUnit {
  int64_t sequence = 0;
  int64_t kv_head = 0;
  KeyRange rows;  // of the sequence: token * group_size + head in group
  KeyRange keys;
  int64_t partial = -1;  // first row of its partial result, or -1 when it is the only one for its rows
};

struct AttentionSchedule {
  int64_t num_q_heads = 0, num_kv_heads = 0, group_size = 0, head_dim = 0, v_head_dim = 0;
  float softmax_scale = 0;
  Mask mask;
  Compute compute = Compute::kBf16;
  std::vector<int64_t> q_lens, kv_lens, q_begins;  // q_begins: first token of each sequence in the query batch
  std::vector<AttentionUnit> units;                // costly ones first
  int64_t num_partial_rows = 0;
};

// Errors: attention_bad_shape naming the argument (heads not divisible, a dimension outside 1..576, negative lengths).
Result<AttentionSchedule> ScheduleAttention(const AttentionShape& shape, const AttentionOptions& options);

// Pairs (query, key) that the mask lets through, summed over sequences; times 2 (Dk + Dv) Hq it is the call's FLOPs.
int64_t VisiblePairs(const AttentionSchedule& schedule);

}  // namespace attend
