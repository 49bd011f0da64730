// What one layer keeps per token: the single formula by which plan computes and cache allocates.
//   bytes(tokens) = tiles * 64 * num_kv_heads * (K cells + K scales + V cells + V scales), tiles = ceil(tokens / 64)
// where cells are head_dim padded to what the panels need (kernel order, docs/reference/cache.md), and a quantised side
// has one 16-bit scale for each group of its padded cells.
#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/kv_format.h"

namespace attend {

inline constexpr uint32_t kTileTokens = 64;  // tokens in one K or V tile

// kLinear: a state of fixed size instead of keys (recurrent and linear attention). kShared: the keys and values of an
// earlier layer are read and none are kept. Only the plan knows these two.
enum class CacheKind { kFull, kWindow, kNone, kLinear, kShared };

constexpr std::string_view NameOf(CacheKind kind) {
  constexpr std::string_view kNames[] = {"full", "window", "none", "linear", "shared"};
  return kNames[static_cast<int>(kind)];
}

struct CacheDescriptor {
  CacheKind kind = CacheKind::kFull;
  uint32_t num_kv_heads = 0;
  uint32_t k_head_dim = 0;
  uint32_t v_head_dim = 0;
  KvFormat format = {};
  bool v_in_k = false;         // V is the first v_head_dim values of K and not kept again (MLA)
  uint32_t window_tokens = 0;  // kWindow, or kShared with one: keys visible to a token, itself included; 0: all
  uint64_t state_bytes = 0;    // of kLinear, or beside the keys of a layer that has both

  // Kept bytes of one token without any padding: the figure that publications quote.
  constexpr uint64_t ExactBytesPerToken() const { return kind == CacheKind::kShared ? 0 : ReadBytesPerToken(); }

  // What a later token reads of it.
  constexpr uint64_t ReadBytesPerToken() const {
    if (kind == CacheKind::kNone || kind == CacheKind::kLinear) return 0;
    const uint64_t v = v_in_k ? 0 : ExactSideBytes(v_head_dim, format.v);
    return num_kv_heads * (ExactSideBytes(k_head_dim, format.k) + v);
  }

  // Of a sequence of `num_tokens`, those that a layer must keep: a window layer no more than its window.
  constexpr uint64_t KeptTokens(uint64_t num_tokens) const {
    return kind == CacheKind::kWindow && window_tokens < num_tokens ? window_tokens : num_tokens;
  }

  // Bytes that our cache allocates for `num_tokens`. Window layers are kept whole: every key stays inspectable.
  constexpr uint64_t AllocatedBytes(uint64_t num_tokens) const {
    if (kind != CacheKind::kFull && kind != CacheKind::kWindow) return 0;
    const uint64_t tiles = (num_tokens + kTileTokens - 1) / kTileTokens;
    return tiles * num_kv_heads * (KTileBytes() + VTileBytes());
  }

  // Bytes of a tile of 64 tokens of one kv head.
  constexpr uint64_t KTileBytes() const { return CellBytes(Padded(k_head_dim), format.k) + KScaleBytes(); }
  constexpr uint64_t VTileBytes() const {
    return v_in_k ? 0 : CellBytes(Padded(v_head_dim), format.v) + ScaleBytes(v_head_dim, format.v);
  }
  constexpr uint64_t KScaleBytes() const { return ScaleBytes(k_head_dim, format.k); }

  // Values that share a scale.
  constexpr uint64_t GroupOf(uint32_t head_dim) const {
    return format.scale_group == kWholeHead ? Padded(head_dim) : format.scale_group;
  }

  static constexpr uint64_t CellBytes(uint64_t width, DType dtype) {
    return width * kTileTokens * InfoOf(dtype).block_bytes / InfoOf(dtype).block_values;
  }

  bool operator==(const CacheDescriptor&) const = default;

 private:
  static constexpr uint64_t Padded(uint32_t head_dim) { return static_cast<uint64_t>(PaddedHeadDim(head_dim)); }
  constexpr uint64_t Groups(uint32_t head_dim) const {
    return (Padded(head_dim) + GroupOf(head_dim) - 1) / GroupOf(head_dim);
  }
  constexpr uint64_t ScaleBytes(uint32_t head_dim, DType dtype) const {
    return IsQuantisedKv(dtype) ? Groups(head_dim) * kTileTokens * 2 : 0;
  }
  constexpr uint64_t ExactSideBytes(uint32_t head_dim, DType dtype) const {
    const DTypeInfo info = InfoOf(dtype);
    const uint64_t cells = (uint64_t{head_dim} * info.block_bytes + info.block_values - 1) / info.block_values;
    return IsQuantisedKv(dtype) ? cells + 2 * Groups(head_dim) : cells;
  }
};

}  // namespace attend
