// The list of work units of one attention call: (sequence, kv head, rows, keys). All query heads that share a kv head
// are rows of one small matmul (row = token * group_size + head in group), so one query token and thousands take the
// same path.
//
// Units depend on each sequence alone, never on its neighbours or on the number of threads: a request gives the same
// bits alone or in a batch. Few rows over many keys are split along the keys and merged (attention/state.h).
#pragma once

#include <cstdint>
#include <vector>

#include "attention/options.h"
#include "attention/sequence_mask.h"

namespace attend {

inline constexpr int64_t kRowTile = 192;          // rows of a unit at most
inline constexpr int64_t kSplitRowTile = 96;      // of a sequence whose units are few: their keys may be split too
inline constexpr int64_t kLeastKeysOfUnit = 512;  // keys of a unit when keys are split; a multiple of 64
inline constexpr int64_t kUnitsWanted = 64;       // of a sequence, where its rows and keys allow that many
inline constexpr int64_t kUnitsEnough = 32;  // from here on keys are not split: merging costs more than it evens out

struct AttentionUnit {
  int64_t sequence = 0;
  int64_t kv_head = 0;
  KeyRange rows;  // of the sequence: token * group_size + head in group
  KeyRange keys;
  int64_t partial = -1;  // first row of its partial result, or -1 when it is the only one for its rows
  int64_t cost = 0;      // rows times the keys of tiles that the mask lets it see
};

// Units whose partial results are merged: units of `keys` that follow each other, in the order of their keys.
struct AttentionMerge {
  int64_t first_partial = 0;
  int64_t num_parts = 0;
  int64_t keys_of_part = 0;
  AttentionUnit unit;  // sequence, head and rows; keys: all of them
};

struct AttentionSchedule {
  int64_t num_q_heads = 0, num_kv_heads = 0, group_size = 0, head_dim = 0, v_head_dim = 0;
  AttentionOptions options;
  std::vector<float> scales;                                  // [num_q_heads]
  std::vector<int64_t> q_lens, kv_lens, q_begins, kv_begins;  // begins: first token and key of each sequence
  std::vector<SequenceMask> masks;                            // a sequence
  std::vector<AttentionUnit> units;                           // costly ones first
  std::vector<AttentionMerge> merges;
  int64_t num_partial_rows = 0;
};

// Arrays that the options point to must live as long as the schedule. Errors: those of CheckAttention.
Result<AttentionSchedule> ScheduleAttention(const AttentionShape& shape, const AttentionOptions& options);

// Pairs (query, key) that the mask lets through, summed over sequences; times 2 (Dk + Dv) Hq it is the call's FLOPs.
int64_t VisiblePairs(const AttentionSchedule& schedule);

}  // namespace attend
