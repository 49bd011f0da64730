// The whole-operation kernels of one instruction set, as plain functions over plain pointers. One table per set; the
// application picks one (KernelsFor) and passes it down. Nothing here allocates, logs or knows of models.
//
// Rows of activations are float, with a stride that is a multiple of 64 columns; columns beyond the width are zero.
// Numerics class bf16: the caller rounds activations in place (round_to_bf16) before a matmul; the sets that have a
// bf16 dot product also read them as bf16 (pack_bf16). Sums are float32 always.
#pragma once

#include <stdint.h>

#include "kernels/panel.h"

namespace attend {

// out[r, c] (+)= sum_k a[r, k] * W[64 * panel + c, k] for one panel of 64 outputs.
struct MatmulArgs {
  PanelView weights;
  int64_t panel;
  const float* a;          // [rows, a_stride]
  const uint16_t* a_bf16;  // the same rows as bf16, same stride, or null: class f32
  int64_t a_stride;
  int64_t rows;
  float* out;  // [rows, out_stride], already at the panel's first column
  int64_t out_stride;
  bool accumulate;  // add to out instead of overwriting it
  float* scratch;   // kMatmulScratchFloats
};
// 128 unpacked inputs x 64 outputs, and the block scales and minima of those inputs.
inline constexpr int64_t kMatmulInputsPerStep = 128;
inline constexpr int64_t kMatmulScratchFloats =
    (kMatmulInputsPerStep + 2 * kMatmulInputsPerStep / kBlockInputs) * kPanelColumns;

enum class KvFormat { kF32, kBf16 };

// Keys and values of one kv head of one layer in kernel order: tile t is at blocks[t] + k_offset / v_offset.
struct KvTiles {
  KvFormat format;
  const uint8_t* const* blocks;  // one pointer a tile of 64 tokens
  int64_t k_offset;              // bytes: kBf16 [k_dim/2][64][2], kF32 [k_dim][64]
  int64_t v_offset;              // bytes: kBf16 [32][v_width][2], kF32 [64][v_width]
  int64_t k_dim;                 // multiple of 16 (padded with zeros)
  int64_t v_width;               // multiple of 16 (padded with zeros)
};

// One work unit: query rows that share a kv head against keys [key_begin, key_end).
//   out[r] = sum_j p[r, j] v[j],  p = softmax over visible j of scale * q[r] . k[j],  lse[r] = ln sum_j exp(...)
// Row r sees keys [row_begin[r], row_end[r]), both rising with r. A row that sees nothing: out 0, lse -inf.
struct AttendArgs {
  KvTiles kv;
  int64_t key_begin;
  int64_t key_end;
  int64_t rows;
  const float* q;  // [rows, k_dim], rounded already in class bf16
  const int64_t* row_begin;
  const int64_t* row_end;
  float scale;         // positive
  bool round_weights;  // class bf16: weights are rounded to bf16 before they meet V
  float* out;          // [rows, v_width]
  float* lse;          // [rows]
  float* scratch;      // AttendScratchFloats(rows, k_dim, v_width)
};
inline constexpr int64_t AttendScratchFloats(int64_t rows, int64_t k_dim, int64_t v_width) {
  return rows * (kPanelColumns + k_dim / 2 + 17) + kPanelColumns * (k_dim + v_width) + 64;
}

// weights[j] = exp(scale * q . k[j] - lse) for keys [key_begin, key_end): one exact row of the attention matrix.
struct AttentionRowArgs {
  KvTiles kv;
  int64_t key_begin;
  int64_t key_end;
  const float* q;  // [k_dim]
  float scale;
  float lse;
  float* weights;  // [key_end - key_begin]
};

struct KernelTable {
  const char* name;
  bool has_bf16_dot;  // matmul reads a_bf16

  void (*matmul)(const MatmulArgs& args);
  void (*attend)(const AttendArgs& args);
  void (*attention_row)(const AttentionRowArgs& args);

  // out[i] = x[i] / sqrt(mean(x^2) + epsilon) * weight[i]
  void (*rms_norm)(const float* x, const float* weight, float epsilon, int64_t n, float* out);
  // Rotates pairs (i, i + half) of one head: (a cos - b sin, b cos + a sin).
  void (*rope)(float* x, const float* cosine, const float* sine, int64_t half);
  // out[i] = gate[i] / (1 + exp(-gate[i])) * up[i]; out may be gate.
  void (*swiglu)(const float* gate, const float* up, int64_t n, float* out);
  void (*round_to_bf16)(float* x, int64_t n);
  void (*pack_bf16)(const float* x, int64_t n, uint16_t* out);
  // ln sum exp(x), with the maximum subtracted; n >= 1.
  float (*log_sum_exp)(const float* x, int64_t n);
  // out[i] = exp(x[i]): the exp that softmax uses, for tests and statistics.
  void (*exp)(const float* x, int64_t n, float* out);

  // Work for measuring peaks: runs `steps` steps with all accumulators in registers and returns the operations done.
  double (*fma_loop)(int64_t steps);
  double (*bf16_loop)(int64_t steps);  // the fastest bf16-in, float-sum instruction; the FMA where there is none
  // Sum of the bytes read as 32-bit words: a pure read stream.
  uint32_t (*read_loop)(const uint8_t* data, int64_t bytes);
};

extern const KernelTable kScalarKernels;
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;
extern const KernelTable kAvx512Bf16Kernels;

}  // namespace attend
