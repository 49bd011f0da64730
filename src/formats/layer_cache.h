// What the kinds of layers beyond plain attention keep, by the sizes that both config.json and GGUF state.
#pragma once

#include <cstdint>

#include "tensor/cache_descriptor.h"

namespace attend {

// Latent attention: K is the compressed part and the rotated one, V the compressed part again.
constexpr CacheDescriptor LatentCache(uint32_t kv_rank, uint32_t rope_dim) {
  return {.kind = CacheKind::kFull,
          .num_kv_heads = 1,
          .k_head_dim = kv_rank + rope_dim,
          .v_head_dim = kv_rank,
          .format = {},
          .v_in_k = true};
}

// A state [inner_size, state_size] in float32 and the last inputs of the convolution over its three parts in 16 bits.
struct StateSizes {
  uint32_t inner_size = 0;  // of gated linear attention: V heads * Dv
  uint32_t state_size = 0;  // Dk
  uint32_t num_groups = 0;  // K heads; 0: the convolution runs over the inner part alone
  uint32_t conv_width = 1;

  constexpr uint64_t Channels() const { return inner_size + 2 * uint64_t{num_groups} * state_size; }
  constexpr uint64_t Bytes() const { return uint64_t{inner_size} * state_size * 4 + Channels() * (conv_width - 1) * 2; }
};

constexpr CacheDescriptor StateCache(const StateSizes& sizes) {
  CacheDescriptor cache;
  cache.kind = CacheKind::kLinear;
  cache.state_bytes = sizes.Bytes();
  return cache;
}

}  // namespace attend
