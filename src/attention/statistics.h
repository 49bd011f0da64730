// Collects a call's row statistics and, per head, its map: the exact mass of every cell of (query range, key range).
// Memory: O(tokens) for the rows, at most 256 x 256 cells a head for the map, whatever the length.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "attention/observer.h"
#include "base/error.h"

namespace attend {

// The map of one sequence: levels as in docs/reference/attention.md. A cell is cell_tokens x cell_tokens, the smallest
// power of two, at least 16, for which the longer side has at most 256 cells.
struct MapShape {
  int64_t q_len = 0, kv_len = 0;
  int64_t cell_tokens = 16;
  int64_t num_rows = 0, num_columns = 0;

  static MapShape For(int64_t q_len, int64_t kv_len);
};

class StatisticsCollector : public AttentionObserver {
 public:
  struct Options {
    int64_t num_first_keys = 4;
    int64_t num_near_keys = 64;
    bool keep_rows = true;
    bool keep_maps = true;
  };

  // For one call with sequences of these lengths.
  StatisticsCollector(int64_t num_q_heads, std::span<const int64_t> q_lens, std::span<const int64_t> kv_lens,
                      const Options& options);

  ObserverWants wants() const override;
  void OnRows(const ObservedRows& rows) override;

  // [q_len, num_q_heads] of a sequence.
  std::span<const RowStatistics> rows(int64_t sequence) const { return sequences_[sequence].rows; }
  const MapShape& map_shape(int64_t sequence) const { return sequences_[sequence].shape; }
  // Mass of each cell [num_rows, num_columns] of one head; a row of cells adds up to its number of queries that see
  // something. Empty without keep_maps.
  std::vector<double> Map(int64_t sequence, int64_t head) const;
  uint64_t size_bytes() const;

 private:
  struct Sequence {
    MapShape shape;
    std::vector<RowStatistics> rows;
    // Fixed point: whole-number sums do not depend on the order in which threads add.
    std::unique_ptr<std::atomic<int64_t>[]> cells;  // [num_q_heads, num_rows, num_columns]
  };
  void AddToMap(const ObservedRows& rows, Sequence& sequence) const;

  int64_t num_q_heads_;
  Options options_;
  int64_t cell_keys_ = 64;
  std::vector<Sequence> sequences_;
};

}  // namespace attend
