// Masks are functions: which keys a query sees, never a matrix. A query sees a band of keys (causal, window) and a
// prefix; document ids, key padding and a list of tiles take away from that.
//
//   causal, q_len 3, kv_len 5        CausalWindow(2)            None()
//     key 0 1 2 3 4                  key 0 1 2 3 4              key 0 1 2 3 4
//   q0    x x x . .                q0    . x x . .            q0    x x x x x
//   q1    x x x x .                q1    . . x x .            q1    x x x x x
//   q2    x x x x x                q2    . . . x x            q2    x x x x x
//
//   causal, q_len 5, kv_len 3        causal, top-left, 3 x 5    causal, prefix 3, 3 x 5
//   q0    . . .                    q0    x . . . .            q0    x x x . .
//   q1    . . .                    q1    x x . . .            q1    x x x x .
//   q2    x . .                    q2    x x x . .            q2    x x x x x
//   q3    x x .
//   q4    x x x
//
// Bottom-right: query i stands at position i + kv_len - q_len, so that the last query sees the last key; with q_len >
// kv_len the first rows see nothing. Top-left: query i stands at position i.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace attend {

enum class MaskKind { kNone, kCausal };
enum class MaskAlignment { kBottomRight, kTopLeft };

struct KeyRange {
  int64_t begin = 0;
  int64_t end = 0;
};

inline constexpr int64_t kMaskTile = 64;  // tokens of a tile of queries and of keys in VisibleTiles

// Block-sparse attention of one sequence: query tile i (64 tokens) sees key tiles key_tiles[row_begins[i],
// row_begins[i + 1]), rising; what else the mask says holds inside them.
struct VisibleTiles {
  std::span<const int32_t> row_begins;  // [ceil(q_len / 64) + 1]
  std::span<const int32_t> key_tiles;
};

struct Mask {
  MaskKind kind = MaskKind::kNone;
  MaskAlignment alignment = MaskAlignment::kBottomRight;
  int64_t window_left = -1;   // keys seen before the query's position; -1: all
  int64_t window_right = -1;  // keys seen after it; -1: all. With kCausal none are.

  // Each empty: off. Arrays of all sequences side by side, and must outlive the schedule.
  std::span<const int64_t> prefix_lens = {};  // [num_sequences]: keys [0, n) are seen by every query, whatever the band
  std::span<const int32_t> q_documents = {};  // [sum of q_lens]: a query sees keys of its own document only
  std::span<const int32_t> kv_documents = {};    // [sum of kv_lens]; given with q_documents
  std::span<const uint8_t> key_is_visible = {};  // [sum of kv_lens]: 0 takes the key away (padding)
  std::span<const VisibleTiles> tiles = {};      // [num_sequences]

  static constexpr Mask None() { return {}; }
  static constexpr Mask Causal() { return {.kind = MaskKind::kCausal}; }
  // The last `tokens` keys, the query's own included (Mistral, Gemma: sliding_window).
  // Precondition: tokens >= 1; fewer are refused.
  static constexpr Mask CausalWindow(int64_t tokens) {
    return {.kind = MaskKind::kCausal, .window_left = tokens >= 1 ? tokens - 1 : -2};
  }

  constexpr int64_t PositionOf(int64_t query, int64_t q_len, int64_t kv_len) const {
    return alignment == MaskAlignment::kTopLeft ? query : query + kv_len - q_len;
  }

  // The band alone: both ends rise with the query.
  constexpr KeyRange Band(int64_t query, int64_t q_len, int64_t kv_len) const {
    const int64_t position = PositionOf(query, q_len, kv_len), all = q_len + kv_len;
    const int64_t right = kind == MaskKind::kCausal ? 0 : std::min(window_right, all);
    const int64_t end = right < 0 ? kv_len : std::clamp<int64_t>(position + 1 + right, 0, kv_len);
    const int64_t left = std::min(window_left, all);
    const int64_t begin = left < 0 ? 0 : std::clamp<int64_t>(position - left, 0, end);
    return {begin, end};
  }

  // Whether the band is all there is.
  constexpr bool IsBand() const {
    return prefix_lens.empty() && q_documents.empty() && key_is_visible.empty() && tiles.empty();
  }
};

}  // namespace attend
