// The kernels once more, plain and in double precision: slow, obvious, and what every tolerance is measured against.
// Written from the formats' definitions, not from the packed layout.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/dtype.h"

namespace attend {

// The weights [num_outputs, num_inputs] that a file's bytes stand for; exact. f32, f16, bf16, q4_0, q4_1, q8_0.
std::vector<double> ReferenceWeights(DType dtype, std::span<const uint8_t> bytes, int64_t num_outputs,
                                     int64_t num_inputs);

// out[r, c] = sum_k a[r, k] w[c, k]; a [rows, a_stride], w [num_outputs, num_inputs], out [rows, num_outputs].
std::vector<double> ReferenceMatmul(std::span<const float> a, int64_t a_stride, int64_t rows,
                                    std::span<const double> weights, int64_t num_outputs, int64_t num_inputs);

std::vector<double> ReferenceRmsNorm(std::span<const float> x, std::span<const float> weight, double epsilon);
// Pairs (i, i + half): (a cos - b sin, b cos + a sin).
std::vector<double> ReferenceRope(std::span<const float> x, std::span<const float> cosine, std::span<const float> sine);
std::vector<double> ReferenceSwiGlu(std::span<const float> gate, std::span<const float> up);
double ReferenceLogSumExp(std::span<const float> x);

}  // namespace attend
