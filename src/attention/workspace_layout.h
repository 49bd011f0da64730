// What a call keeps in its workspace: each thread's buffers, and the results of parts until they are merged.
#pragma once

#include <span>

#include "attention/unit_rows.h"

namespace attend {

// Takes pieces of a block of floats, each on a boundary of 64 bytes. With a null block it only counts.
class Carver {
 public:
  explicit Carver(float* memory) : memory_(memory) {}
  template <class T>
  T* Take(int64_t count) {
    T* const taken = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + used_);
    used_ += (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 16;
    return taken;
  }
  size_t used() const { return used_; }

 private:
  float* memory_;
  size_t used_ = 0;
};

// Cells of keys that the unit's tiles hold, rounded up to whole vectors.
struct ObservedWidth {
  int64_t tiles = 0;  // a row
  int64_t cells = 0;
  static ObservedWidth Of(KeyRange keys, int64_t cell_keys);
};

struct ThreadBuffers {
  UnitRows rows;
  float* out;
  float* lse;
  int64_t* near_begin;
  float* scratch;
  // With an observer:
  float* tile_maximum;
  float* cells;
  RowSums* sums;
  RowStatistics* statistics;
};

struct PartBuffers {
  float* out;     // [num_partial_rows, v_width]
  float* lse;     // [num_partial_rows]
  RowSums* sums;  // [num_partial_rows]
  float* cells;   // [num_partial_rows, widest_part.cells]
};

struct WorkspaceLayout {
  int64_t k_dim = 0, v_width = 0;
  int64_t most_rows = 0;  // of a unit
  int64_t partial_rows = 0;
  bool observed = false;
  ObserverWants wants = {};
  ObservedWidth widest;       // of units that are not split
  ObservedWidth widest_part;  // of parts
  size_t thread_floats = 0;   // of one thread
  size_t part_floats = 0;     // of all parts

  static WorkspaceLayout Of(const AttentionSchedule& schedule, std::span<const KvView> caches,
                            const AttentionObserver* observer);
  size_t Floats(int num_threads) const { return thread_floats * static_cast<size_t>(num_threads) + part_floats; }

  ThreadBuffers TakeThread(Carver& carver) const;
  PartBuffers TakeParts(Carver& carver) const;
};

}  // namespace attend
