// What this machine can do at most, measured with the kernels' own loops: the figure that every bench line is a share
// of.
#pragma once

#include <cstddef>

#include "base/error.h"
#include "base/thread_pool.h"
#include "kernels/kernel_table.h"
#include "tensor/compute.h"

namespace attend {

struct Peaks {
  int threads = 0;
  double fma_flops_per_s = 0;     // float32 fused multiply-add, all threads
  double bf16_flops_per_s = 0;    // the fastest bf16-in, float-sum instruction, all threads
  double read_1_bytes_per_s = 0;  // a pure read stream, one thread
  double read_bytes_per_s = 0;    // the same with all threads

  // What a matmul of this class could reach at best.
  double FlopsPerSecond(Compute compute) const { return compute == Compute::kF32 ? fma_flops_per_s : bf16_flops_per_s; }
};

struct PeakOptions {
  size_t read_bytes = size_t{512} << 20;  // beyond any cache
  int rounds = 5;                 // the best counts: a peak is what the machine can do, not what it does beside others
  double compute_seconds = 0.02;  // of each round
};

// About one second with the defaults. Errors: out_of_memory for the buffer.
Result<Peaks> MeasurePeaks(const KernelTable& kernels, ThreadPool& pool, const PeakOptions& options = {});

}  // namespace attend
