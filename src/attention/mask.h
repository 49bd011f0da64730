// Masks are functions: which keys a query sees, never a matrix. Every mask here shows a contiguous range that rises
// with the query, so a tile of rows and keys is all visible, mixed, or nothing.
//
//   causal, q_len 3, kv_len 5        causal_window(2)           none
//     key 0 1 2 3 4                  key 0 1 2 3 4              key 0 1 2 3 4
//   q0    x x x . .                q0    . x x . .            q0    x x x x x
//   q1    x x x x .                q1    . . x x .            q1    x x x x x
//   q2    x x x x x                q2    . . . x x            q2    x x x x x
//
// Query i stands at position i + kv_len - q_len (bottom-right); with q_len > kv_len the first rows see nothing.
#pragma once

#include <algorithm>
#include <cstdint>

namespace attend {

enum class MaskKind { kNone, kCausal };

struct KeyRange {
  int64_t begin = 0;
  int64_t end = 0;
};

struct Mask {
  MaskKind kind = MaskKind::kNone;
  int64_t window_left = -1;  // keys seen before the query's own, itself not counted; -1: all. Only with kCausal.

  static constexpr Mask None() { return {}; }
  static constexpr Mask Causal() { return {.kind = MaskKind::kCausal, .window_left = -1}; }
  // The last `tokens` keys, the query's own included (Mistral, Gemma: sliding_window).
  static constexpr Mask CausalWindow(int64_t tokens) { return {.kind = MaskKind::kCausal, .window_left = tokens - 1}; }

  constexpr KeyRange VisibleKeys(int64_t query, int64_t q_len, int64_t kv_len) const {
    if (kind == MaskKind::kNone) return {0, kv_len};
    const int64_t position = query + kv_len - q_len;
    const int64_t end = std::clamp<int64_t>(position + 1, 0, kv_len);
    const int64_t begin = window_left < 0 ? 0 : std::clamp<int64_t>(position - window_left, 0, end);
    return {begin, end};
  }
};

}  // namespace attend
