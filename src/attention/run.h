// Runs a schedule: softmax(scale * Q K^T + mask) V for every sequence and head, without building the score matrix.
//
// Shapes: queries [num_tokens, q_stride >= Hq * D], out [num_tokens, out_stride >= Hq * Dv], lse [num_tokens, Hq],
// natural log, -inf for a row that sees nothing (its out is 0). Query head h reads kv head h / group_size. Memory:
// O(threads x tile) beyond inputs and outputs. Time: 2 (D + Dv) Hq * visible pairs FLOPs. Errors: attention_bad_shape
// when a cache does not match the schedule; out_of_memory for the workspace. One workspace serves one call at a time;
// the same schedule may run many times.
#pragma once

#include <cstdint>
#include <span>

#include "attention/schedule.h"
#include "attention/state.h"
#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "kernels/kernel_table.h"
#include "tensor/kv_view.h"

namespace attend {

class AttentionWorkspace {
 public:
  // Grows to at least `floats`; never shrinks.
  Result<float*> Reserve(size_t floats);
  uint64_t size_bytes() const { return buffer_.size_bytes(); }

 private:
  AlignedBuffer<float> buffer_;
};

// Floats that a call needs: scratch of each thread plus the partial rows of split keys.
size_t AttentionWorkspaceFloats(const AttentionSchedule& schedule, int64_t k_dim, int64_t v_width, int num_threads);

struct AttentionQueries {
  const float* data = nullptr;
  int64_t stride = 0;
};

struct AttentionOutput {
  float* out = nullptr;
  int64_t stride = 0;
  float* lse = nullptr;  // may be null
};

// What the call did: proof that rows went through the engine, and how much the mask saved.
struct AttentionCounters {
  int64_t rows = 0;  // query tokens x query heads
  int64_t units = 0;
};

Result<AttentionCounters> RunAttention(const AttentionSchedule& schedule, const AttentionQueries& queries,
                                       std::span<const KvView> caches /* one a sequence */,
                                       const AttentionOutput& output, const KernelTable& kernels, ThreadPool& pool,
                                       AttentionWorkspace& workspace);

// One exact row of the attention matrix: weights[j] of key j for j in [0, keys.end - keys.begin), from q [head_dim] as
// it entered attention and the row's lse. Keys outside what the query saw are the caller's to leave out.
void AttentionRowWeights(const KvView& cache, int64_t kv_head, const float* q, int64_t head_dim, float softmax_scale,
                         float lse, Compute compute, KeyRange keys, const KernelTable& kernels, float* weights);

}  // namespace attend
