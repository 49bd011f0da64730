// The whole-operation kernels of one instruction set, as plain functions over plain pointers. One table per set; the
// application picks one (KernelsFor) and passes it down. Nothing here allocates, logs or knows of models.
//
// Rows of activations are float, with a stride that is a multiple of 64 columns; columns beyond the width are zero.
// Numerics class bf16: the caller rounds activations in place (round_to_bf16) before a matmul; the sets that have a
// bf16 dot product also read them as bf16 (pack_bf16). Sums are float32 always.
#pragma once

#include <stdint.h>

#include "kernels/attend_args.h"
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

struct KernelTable {
  const char* name;
  bool has_bf16_dot;  // matmul reads a_bf16

  void (*matmul)(const MatmulArgs& args);
  void (*attend)(const AttendArgs& args);
  void (*attention_weights)(const AttentionWeightsArgs& args);

  // out[i] = x[i] / sqrt(mean(x^2) + epsilon) * weight[i]
  void (*rms_norm)(const float* x, const float* weight, float epsilon, int64_t n, float* out);
  // Rotates pairs (i, i + half) of one head: (a cos - b sin, b cos + a sin).
  void (*rope)(float* x, const float* cosine, const float* sine, int64_t half);
  // out[i] = gate[i] / (1 + exp(-gate[i])) * up[i]; out may be gate.
  void (*swiglu)(const float* gate, const float* up, int64_t n, float* out);
  void (*round_to_bf16)(float* x, int64_t n);
  void (*pack_bf16)(const float* x, int64_t n, uint16_t* out);
  void (*unpack_f16)(const uint16_t* x, int64_t n, float* out);
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
extern const KernelTable kAvx512VnniKernels;
extern const KernelTable kAvx512Bf16Kernels;

}  // namespace attend
