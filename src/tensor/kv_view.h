// What attention reads of one layer's cache: pointers to blocks of 64 tokens, each holding for every kv head a K tile
// and a V tile in kernel order (kernels/panel.h). Plain data; valid until the cache it came from changes.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace attend {

struct KvView {
  DType dtype = DType::kBf16;              // f32 or bf16, of K and V
  const uint8_t* const* blocks = nullptr;  // [ceil(num_tokens / 64)]
  int64_t num_tokens = 0;
  int64_t num_kv_heads = 0;
  int64_t k_dim = 0;         // padded head_dim
  int64_t v_width = 0;       // padded v_head_dim
  int64_t layer_offset = 0;  // bytes from a block's start to this layer
  int64_t k_tile_bytes = 0;
  int64_t head_bytes = 0;  // K tile and V tile of one kv head
};

}  // namespace attend
