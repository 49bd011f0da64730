#include "kernels/matmul_test_util.h"

namespace attend {
namespace {

class MatmulTest : public EveryTable {};
ATTEND_FOR_EVERY_TABLE(MatmulTest);

struct Size {
  int64_t num_outputs, num_inputs;
};
constexpr Size kPlainSizes[] = {{1, 1}, {63, 31}, {64, 128}, {65, 129}, {130, 257}, {192, 2}};
constexpr Size kBlockSizes[] = {{1, 32}, {63, 96}, {64, 128}, {65, 160}, {130, 288}};

std::span<const Size> SizesOf(DType dtype) {
  if (IsQuantised(dtype)) return kBlockSizes;
  return kPlainSizes;
}

std::vector<int64_t> RowCounts() {
  std::vector<int64_t> rows = {48, kMaxRows};
  for (int64_t r = 1; r <= 13; ++r) rows.push_back(r);
  return rows;
}

// Every output within the bound of float sums, all of them within twice the naive loop's largest error
// (ARCHITECTURE.md, Numerics); nothing written beyond the rows and panels; columns beyond the outputs add zero.
void Check(const KernelTable& table, const MatmulProblem& p, int64_t rows, bool accumulate) {
  SCOPED_TRACE(std::string(NameOf(p.dtype)) + (p.round_to_bf16 ? " bf16" : " f32") + " n" +
               std::to_string(p.num_outputs) + " k" + std::to_string(p.num_inputs) + " rows" + std::to_string(rows) +
               (accumulate ? " accumulate" : ""));
  const int64_t padded = p.weights.num_panels() * kPanelColumns;
  const int64_t out_stride = padded + 64;
  constexpr float kInitial = 3.0f;
  const std::vector<float> out = p.Run(table, rows, accumulate, kInitial, out_stride);
  const double base = accumulate ? kInitial : 0;
  double largest = 0, largest_value = 0;
  int64_t outside = 0, overwritten = 0;
  for (int64_t r = 0; r <= rows; ++r) {
    for (int64_t c = 0; c < out_stride; ++c) {
      const float got = out[r * out_stride + c];
      if (r == rows || c >= padded) {
        overwritten += got != kInitial;
      } else if (c >= p.num_outputs) {
        overwritten += got != static_cast<float>(base);
      } else {
        const double expected = p.expected[r * p.num_outputs + c] + base;
        const double error = std::abs(got - expected);
        outside += !(error <= p.bound[r * p.num_outputs + c] + 8 * kEps * base);
        largest = std::max(largest, error);
        largest_value = std::max(largest_value, std::abs(expected));
      }
    }
  }
  EXPECT_EQ(outside, 0);
  EXPECT_EQ(overwritten, 0);
  const double minimum_slack = p.dtype == DType::kQ4_1 ? 64 : 8;  // two sums that cancel in part
  EXPECT_LE(largest, 2 * p.naive_error + minimum_slack * kEps * largest_value);
}

TEST_P(MatmulTest, IsTheDoubleReferenceForEveryFormatRowCountAndClass) {
  for (DType dtype : kWeightTypes) {
    for (const Size& size : SizesOf(dtype)) {
      for (bool round : {false, true}) {
        const MatmulProblem problem(dtype, size.num_outputs, size.num_inputs, round, 7);
        for (int64_t rows : RowCounts()) {
          Check(table(), problem, rows, false);
          Check(table(), problem, rows, true);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Inputs of a power of two and small integers: every sum is exact, so the result must be too, in both classes.
TEST_P(MatmulTest, IsExactWhereFloatSumsAre) {
  const int64_t inputs = 160, outputs = 70;
  std::vector<float> w(static_cast<size_t>(inputs * outputs)), a(6 * 192, 0.0f);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(static_cast<int>(i * 7 % 31) - 15);
  for (int64_t r = 0; r < 6; ++r) {
    for (int64_t k = 0; k < inputs; ++k) a[r * 192 + k] = static_cast<float>((r * 5 + k * 3) % 17 - 8) * 0.25f;
  }
  std::vector<uint16_t> a_bf16, w_bf16;
  for (float x : a) a_bf16.push_back(FloatToBf16(x));
  for (float x : w) w_bf16.push_back(FloatToBf16(x));
  const std::vector<double> doubles(w.begin(), w.end());
  const std::vector<double> expected = ReferenceMatmul(a, 192, 6, doubles, outputs, inputs);
  ThreadPool pool(1);
  const auto bytes = [](const auto& v) {
    return std::span(reinterpret_cast<const uint8_t*>(v.data()), v.size() * sizeof v[0]);
  };
  const PackedMatrix matrices[] = {*PackedMatrix::Pack(DType::kF32, bytes(w), outputs, inputs, {}, "w", pool),
                                   *PackedMatrix::Pack(DType::kBf16, bytes(w_bf16), outputs, inputs, {}, "w", pool)};
  for (const PackedMatrix& matrix : matrices) {
    std::vector<float> out(6 * 128), scratch(static_cast<size_t>(kMatmulScratchFloats));
    for (int64_t panel = 0; panel < 2; ++panel) {
      table().matmul({matrix.view(), panel, a.data(), table().has_bf16_dot ? a_bf16.data() : nullptr, 192, 6,
                      out.data() + panel * 64, 128, false, scratch.data()});
    }
    for (int64_t r = 0; r < 6; ++r) {
      for (int64_t c = 0; c < outputs; ++c) ASSERT_EQ(out[r * 128 + c], expected[r * outputs + c]) << r << " " << c;
    }
  }
}

// NaN in one row of activations or one output's weights stays there.
TEST_P(MatmulTest, NanStaysInItsRowAndColumn) {
  for (DType dtype : {DType::kF32, DType::kBf16, DType::kF16, DType::kQ8_0}) {
    MatmulProblem problem(dtype, 70, 64, true, 9);
    problem.a[3 * problem.stride + 5] = kNan;
    problem.a_bf16[3 * problem.stride + 5] = FloatToBf16(kNan);
    for (int64_t rows : {4, 7, 13}) {
      const std::vector<float> out = problem.Run(table(), rows, false, 0, 128);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < 70; ++c)
          ASSERT_EQ(std::isnan(out[r * 128 + c]), r == 3) << NameOf(dtype) << r << " " << c;
      }
    }
  }
}

// All sets agree within the order of their sums, in both classes.
TEST(MatmulDifferentialTest, AllTablesAgree) {
  const std::vector<const KernelTable*> tables = TablesHere();
  for (DType dtype : kWeightTypes) {
    for (bool round : {false, true}) {
      const MatmulProblem problem(dtype, 130, 288, round, 11);
      for (int64_t rows : {1, 5, 48}) {
        const std::vector<float> first = problem.Run(*tables[0], rows, false, 0, 192);
        for (const KernelTable* table : tables) {
          const std::vector<float> other = problem.Run(*table, rows, false, 0, 192);
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t c = 0; c < 130; ++c) {
              ASSERT_NEAR(other[r * 192 + c], first[r * 192 + c], 2 * problem.bound[r * 130 + c])
                  << table->name << " " << NameOf(dtype) << " " << r << " " << c;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace attend
