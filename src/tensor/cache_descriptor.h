// What one layer keeps per token: the single formula by which plan computes and cache allocates.
//   bytes(tokens) = tiles * 64 * num_kv_heads * (k_width * bytes(k) + v_width * bytes(v)), tiles = ceil(tokens / 64)
// where widths are head_dim padded to what the panels need (kernel order, docs/reference/cache.md).
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace attend {

inline constexpr uint32_t kTileTokens = 64;     // tokens in one K or V tile
inline constexpr uint32_t kWidthMultiple = 16;  // V columns and K dimensions are padded to this with zeros

enum class CacheKind { kFull, kWindow, kNone };

struct CacheDescriptor {
  CacheKind kind = CacheKind::kFull;
  uint32_t num_kv_heads = 0;
  uint32_t k_head_dim = 0;
  uint32_t v_head_dim = 0;
  DType k_dtype = DType::kBf16;  // f32 or bf16
  DType v_dtype = DType::kBf16;
  uint32_t window_tokens = 0;  // kWindow only: keys visible to a token, itself included

  // Bytes of one token without any padding: the figure that publications quote.
  constexpr uint64_t ExactBytesPerToken() const {
    if (kind == CacheKind::kNone) return 0;
    return uint64_t{num_kv_heads} *
           (uint64_t{k_head_dim} * InfoOf(k_dtype).block_bytes + uint64_t{v_head_dim} * InfoOf(v_dtype).block_bytes);
  }

  // Bytes that our cache allocates for `num_tokens`. Window layers are kept whole: every key stays inspectable.
  constexpr uint64_t AllocatedBytes(uint64_t num_tokens) const {
    if (kind == CacheKind::kNone) return 0;
    const uint64_t tiles = (num_tokens + kTileTokens - 1) / kTileTokens;
    return tiles * kTileTokens * num_kv_heads *
           (Padded(k_head_dim) * InfoOf(k_dtype).block_bytes + Padded(v_head_dim) * InfoOf(v_dtype).block_bytes);
  }

  static constexpr uint64_t Padded(uint32_t head_dim) {
    return (uint64_t{head_dim} + kWidthMultiple - 1) / kWidthMultiple * kWidthMultiple;
  }

  bool operator==(const CacheDescriptor&) const = default;
};

}  // namespace attend
