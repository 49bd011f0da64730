// What an attention call may be asked for. Every option combines with every other; what cannot be is refused by
// ScheduleAttention. Order of terms: s = softcap(scale q . k) + bias - slope |position - key|, then the mask, then
// softmax with the sink.
#pragma once

#include <cstdint>
#include <span>

#include "attention/mask.h"
#include "base/error.h"
#include "tensor/compute.h"
#include "tensor/dtype.h"

namespace attend {

// Added to the scores, read where it lies and never copied: element (sequence, head, query, key) is at
// data[sequence * sequence_stride + head * head_stride + query * query_stride + key * key_stride]. A stride of 0
// broadcasts. -inf takes a key away; any other value is a number like any other.
struct AttentionBias {
  const void* data = nullptr;  // null: off
  DType dtype = DType::kF32;   // f32, f16 or bf16
  int64_t sequence_stride = 0, head_stride = 0, query_stride = 0;
  int64_t key_stride = 1;  // 1, or 0 for one value a row
  int64_t size = 0;        // elements that `data` holds: no element beyond is ever asked for
};

struct AttentionOptions {
  Mask mask = Mask::Causal();
  float softmax_scale = 0;                  // positive; 0: 1 / sqrt(head_dim)
  std::span<const float> head_scales = {};  // [num_q_heads], positive, instead of softmax_scale; empty: off
  float softcap = 0;                        // c of c tanh(s / c), positive; 0: off
  AttentionBias bias = {};
  std::span<const float> alibi_slopes = {};  // [num_q_heads]; empty: off
  std::span<const float> sinks = {};         // [num_q_heads]: logit of a key without value; empty: off
  Compute compute = Compute::kBf16;
};

struct AttentionShape {
  int64_t num_q_heads = 0;
  int64_t num_kv_heads = 0;  // divides num_q_heads
  int64_t head_dim = 0;
  int64_t v_head_dim = 0;                 // 0: head_dim
  std::span<const int64_t> q_lens = {};   // tokens of each sequence in the query batch
  std::span<const int64_t> kv_lens = {};  // keys of each sequence
};

// Refuses, naming the argument, whatever a schedule cannot be made of. Errors: attention_bad_shape.
Result<void> CheckAttention(const AttentionShape& shape, const AttentionOptions& options);

}  // namespace attend
