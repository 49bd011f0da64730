// What attention reads of one layer's keys and values. Plain data; valid until what it came from changes.
//
// KvView: blocks of 64 tokens, each holding for every kv head a K tile and a V tile in kernel order
// (kernels/attend_args.h); contiguous and paged caches alike. PlainKv: a caller's own row-major tensors, any strides.
#pragma once

#include <cstdint>

#include "tensor/kv_format.h"

namespace attend {

struct PlainTensor {
  const void* data = nullptr;
  DType dtype = DType::kF32;  // f32, bf16 or f16
  int64_t token_stride = 0;   // values
  int64_t head_stride = 0;    // values
  int64_t size = 0;           // values that `data` holds: no offset reaches beyond
};

struct KvView {
  KvFormat format = {};
  const uint8_t* const* blocks = nullptr;  // [ceil(num_tokens / 64)]; null: plain
  int64_t num_tokens = 0;
  int64_t num_kv_heads = 0;
  int64_t k_dim = 0;         // padded head_dim
  int64_t v_width = 0;       // padded v_head_dim
  int64_t layer_offset = 0;  // bytes from a block's start to this layer
  int64_t k_tile_bytes = 0;
  int64_t head_bytes = 0;  // K tile and V tile of one kv head
  bool v_in_k = false;

  // Plain rows instead of blocks: K [num_tokens, num_kv_heads, head_dim], V likewise.
  PlainTensor k = {};
  PlainTensor v = {};
};

// A view of row-major K and V; v_in_k when v.data is null (V is the first v_head_dim values of K).
constexpr KvView PlainKv(const PlainTensor& k, const PlainTensor& v, int64_t num_tokens, int64_t num_kv_heads,
                         int64_t head_dim, int64_t v_head_dim) {
  return {.format = {.k = k.dtype, .v = v.data == nullptr ? k.dtype : v.dtype},
          .num_tokens = num_tokens,
          .num_kv_heads = num_kv_heads,
          .k_dim = PaddedHeadDim(head_dim),
          .v_width = PaddedHeadDim(v_head_dim),
          .v_in_k = v.data == nullptr,
          .k = k,
          .v = v};
}

}  // namespace attend
