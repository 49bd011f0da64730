// Panels: the one layout that every matmul of ours reads, for weights and for the KV cache alike.
//
// A matrix W [n, k] (n outputs, k inputs) is cut into panels of 64 outputs; inside a panel the inputs run slowest, so
// that one load gives neighbouring outputs of the same input. Outputs beyond n are zero.
//   kF32   float  [k][64]
//   kF16   half   [k][64]
//   kBf16  bf16   [k/2][64][2]           input pairs interleaved (k rounded up to even)
//   kQ4    a block of 32 inputs: u32 [4][64], nibble i of word (g, c) is input 8 g + i of output c; then half scale
//   [64],
//          then half minimum [64] when has_minimum;  w = scale * (nibble - offset) + minimum
//   kQ8    a block of 32 inputs: int8 [32][64], then half scale [64];  w = scale * value
// A K tile of the cache is a kBf16 or kF32 panel whose 64 outputs are tokens and whose inputs are head dimensions; a V
// tile is a panel whose inputs are the 64 tokens and whose width is the padded head dimension.
#pragma once

#include <stdint.h>

namespace attend {

inline constexpr int kPanelColumns = 64;
inline constexpr int kBlockInputs = 32;  // inputs that share a scale in kQ4 and kQ8

enum class PanelKind { kF32, kF16, kBf16, kQ4, kQ8 };

// Plain view of packed weights: what kernels see.
struct PanelView {
  PanelKind kind;
  bool has_minimum;     // kQ4 only
  float offset;         // kQ4 only: 0 or 8, subtracted from each nibble
  int64_t num_inputs;   // k
  int64_t num_outputs;  // n
  int64_t panel_bytes;  // one panel of 64 outputs
  const uint8_t* data;  // [ceil(n / 64)] panels
};

}  // namespace attend
