// Runs single work units: gathers a unit's query rows, calls the kernel, stores or keeps the result.
#pragma once

#include "attention/workspace_layout.h"

namespace attend {

class UnitRunner {
 public:
  UnitRunner(const AttentionSchedule& schedule, const AttentionQueries& queries, std::span<const KvView> caches,
             const AttentionOutput& output, const KernelTable& kernels, const WorkspaceLayout& layout, float* workspace,
             int num_threads);

  void RunUnit(const AttentionUnit& unit, int thread);
  // Units that share rows hold consecutive key ranges; they are merged in the order of their keys.
  void RunMerge(const AttentionMerge& merge, int thread);

 private:
  ThreadBuffers BuffersOf(int thread) const;
  int64_t HeadOf(const AttentionUnit& unit, int64_t row) const {
    return unit.kv_head * s_.group_size + row % s_.group_size;
  }
  // Where the kernel puts what it observes: a thread's buffers, or the part's own.
  ObserveArgs ObserveTo(const AttentionUnit& unit, const ThreadBuffers& b) const;
  RowSums MergeObserved(const AttentionMerge& merge, int64_t row, float lse, float factor, float* cells,
                        int64_t num_cells) const;
  // Applies the sink, writes the row's output (scaling `out`) and lse; returns the factor by which the sink shrinks
  // every weight.
  float StoreRow(const AttentionUnit& unit, int64_t row, float* out, float lse) const;
  RowStatistics StatisticsOf(const AttentionUnit& unit, int64_t row, const RowSums& sums, float lse,
                             float sink_factor) const;
  void Report(const AttentionUnit& unit, const ThreadBuffers& b, int64_t cell_stride) const;

  const AttentionSchedule& s_;
  AttentionQueries queries_;
  std::span<const KvView> caches_;
  AttentionOutput output_;
  const KernelTable& kernels_;
  WorkspaceLayout layout_;
  float* threads_ = nullptr;
  PartBuffers parts_ = {};
};

}  // namespace attend
