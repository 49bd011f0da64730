// Runs a schedule: softmax of the masked scores times V for every sequence and head, without building the score matrix.
//
// Shapes: queries [num_tokens, stride >= Hq * D], out [num_tokens, stride >= Hq * Dv], lse [num_tokens, Hq], natural
// log, -inf for a row that sees nothing (its out is 0; with a learned sink lse is the sink). Query head h reads kv head
// h / group_size. Memory: O(threads x tile) beyond inputs and outputs, O(threads x keys) more with an observer. Time:
// 2 (D + Dv) Hq * visible pairs FLOPs. Errors: attention_bad_shape when an argument does not match the schedule,
// naming it; out_of_memory for the workspace. One workspace serves one call at a time; a schedule may run many times.
#pragma once

#include <cstdint>
#include <span>

#include "attention/observer.h"
#include "attention/schedule.h"
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

struct AttentionQueries {
  const void* data = nullptr;
  int64_t stride = 0;         // values from a token to the next
  DType dtype = DType::kF32;  // f32, f16 or bf16
};

struct AttentionOutput {
  void* out = nullptr;
  int64_t stride = 0;         // values
  float* lse = nullptr;       // may be null
  DType dtype = DType::kF32;  // f32 or bf16
  AttentionObserver* observer = nullptr;
};

// What the call did: proof that rows went through the engine.
struct AttentionCounters {
  int64_t rows = 0;  // query tokens x query heads
  int64_t units = 0;
};

Result<AttentionCounters> RunAttention(const AttentionSchedule& schedule, const AttentionQueries& queries,
                                       std::span<const KvView> caches /* one a sequence */,
                                       const AttentionOutput& output, const KernelTable& kernels, ThreadPool& pool,
                                       AttentionWorkspace& workspace);

// The bytes that such a call reserves in its workspace. Errors: attention_bad_shape, of the observer.
Result<uint64_t> AttentionWorkspaceBytes(const AttentionSchedule& schedule, std::span<const KvView> caches,
                                         const AttentionObserver* observer, int num_threads);

}  // namespace attend
