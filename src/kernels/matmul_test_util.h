// One matmul with its double reference and the error of the naive float loop: the tolerance of every matmul test.
#pragma once

#include <vector>

#include "base/checked_math.h"
#include "kernels/kernels_test_util.h"
#include "kernels/packed_matrix.h"
#include "kernels/reference.h"
#include "kernels/weights_test_util.h"

namespace attend {

inline constexpr int64_t kMaxRows = 100;

struct MatmulProblem {
  DType dtype;
  int64_t num_outputs, num_inputs, stride;
  bool round_to_bf16;
  std::vector<float> a;          // [kMaxRows, stride], zero beyond num_inputs
  std::vector<uint16_t> a_bf16;  // the same, when round_to_bf16
  PackedMatrix weights;
  std::vector<double> expected;  // [kMaxRows, num_outputs]
  std::vector<double> bound;     // what any order of float sums stays within
  double naive_error = 0;        // largest error of the naive float loop

  MatmulProblem(DType type, int64_t outputs, int64_t inputs, bool round, uint32_t seed)
      : dtype(type), num_outputs(outputs), num_inputs(inputs), round_to_bf16(round) {
    stride = static_cast<int64_t>(RoundUp(static_cast<uint64_t>(inputs), 64));
    const std::vector<float> values = RandomRow(kMaxRows * inputs, seed);
    a.assign(static_cast<size_t>(kMaxRows * stride), 0.0f);
    for (int64_t r = 0; r < kMaxRows; ++r) {
      for (int64_t k = 0; k < inputs; ++k) {
        const float x = values[r * inputs + k];
        a[r * stride + k] = round ? RoundToBf16(x) : x;
      }
    }
    if (round) {
      for (float x : a) a_bf16.push_back(FloatToBf16(x));
    }
    const std::vector<uint8_t> bytes = RandomWeightBytes(type, outputs, inputs, seed + 1);
    ThreadPool pool(1);
    weights = *PackedMatrix::Pack(type, bytes, outputs, inputs, {}, "w", pool);
    const std::vector<double> w = ReferenceWeights(type, bytes, outputs, inputs);
    expected = ReferenceMatmul(a, stride, kMaxRows, w, outputs, inputs);
    for (int64_t r = 0; r < kMaxRows; ++r) {
      for (int64_t c = 0; c < outputs; ++c) AddBound(r, c, w);
    }
  }

  // Runs all panels over `rows` rows; out [rows, out_stride] is filled with `initial` before.
  std::vector<float> Run(const KernelTable& table, int64_t rows, bool accumulate, float initial,
                         int64_t out_stride) const {
    std::vector<float> out(static_cast<size_t>((rows + 1) * out_stride), initial);
    std::vector<float> scratch(static_cast<size_t>(kMatmulScratchFloats));
    for (int64_t panel = 0; panel < weights.num_panels(); ++panel) {
      table.matmul({.weights = weights.view(),
                    .panel = panel,
                    .a = a.data(),
                    .a_bf16 = round_to_bf16 && table.has_bf16_dot ? a_bf16.data() : nullptr,
                    .a_stride = stride,
                    .rows = rows,
                    .out = out.data() + panel * kPanelColumns,
                    .out_stride = out_stride,
                    .accumulate = accumulate,
                    .scratch = scratch.data()});
    }
    return out;
  }

 private:
  void AddBound(int64_t r, int64_t c, const std::vector<double>& w) {
    float naive = 0;
    double magnitude = 0;
    for (int64_t k = 0; k < num_inputs; ++k) {
      const double weight = w[c * num_inputs + k];
      naive += a[r * stride + k] * static_cast<float>(weight);
      // A q4_1 weight is the difference of scale * nibble and minimum, and each has its own sum: at most |w| + 2
      // |minimum|, and no minimum here exceeds 5.
      magnitude += std::abs(a[r * stride + k]) * (std::abs(weight) + (dtype == DType::kQ4_1 ? 10.0 : 0.0));
    }
    naive_error = std::max(naive_error, std::abs(naive - expected[r * num_outputs + c]));
    bound.push_back(static_cast<double>(num_inputs + 8) * kEps * magnitude);
  }
};

}  // namespace attend
