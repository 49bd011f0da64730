// Statistics that ride along with attention: what each row of the attention matrix looks like, without the matrix.
#pragma once

#include <cstdint>
#include <span>

#include "attention/mask.h"

namespace attend {

// One query and head; p its weights over the keys it sees, position where its query stands. With a learned sink the
// sink's weight is in no figure: the masses are then below 1.
struct RowStatistics {
  float lse = 0;             // natural log, sink included
  float largest_weight = 0;  // 0 for a row that sees nothing
  int64_t largest_key = -1;  // the first that has it; -1: none
  float entropy = 0;         // -sum p ln p, nats
  float first_mass = 0;      // sum of p on keys [0, num_first_keys)
  float near_mass = 0;       // sum of p on keys (position - num_near_keys, position]
  float mean_distance = 0;   // sum p (position - key), tokens
};

// Rows [rows.begin, rows.end) of one kv head of a sequence: row = token * group_size + head in group.
struct ObservedRows {
  int64_t sequence = 0;
  int64_t kv_head = 0;
  int64_t group_size = 0;
  KeyRange rows;
  std::span<const RowStatistics> statistics;  // a row
  // null, or mass of cell i of row r, keys [(first_cell + i) * cell_keys, + cell_keys): cells[r * cell_stride + i]
  const float* cells = nullptr;
  int64_t cell_keys = 0, cell_stride = 0, first_cell = 0, num_cells = 0;
};

struct ObserverWants {
  int64_t num_first_keys = 4;
  int64_t num_near_keys = 64;
  int64_t cell_keys = 64;  // 16, 32 or 64
  bool rows = true;        // false: of a row's statistics only lse is there
  bool cells = true;       // false: ObservedRows::cells is null
};

class AttentionObserver {
 public:
  virtual ~AttentionObserver() = default;
  virtual ObserverWants wants() const = 0;
  // Every row of the call comes exactly once, from any worker thread, several at a time.
  virtual void OnRows(const ObservedRows& rows) = 0;
};

}  // namespace attend
