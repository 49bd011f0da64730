#include "plan/model_footprint.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "formats/expected_tensors.h"
#include "formats/model_shapes.h"
#include "plan/budget.h"
#include "plan/plan_test_util.h"
#include "tensor/packed_bytes.h"

namespace attend {
namespace {

constexpr double kGib = 0x1p30;

// 64 outputs of 64 inputs, by hand from kernels/panel.h.
static_assert(PackedMatrixBytes(DType::kF32, 64, 64) == 64 * 64 * 4);
static_assert(PackedMatrixBytes(DType::kBf16, 1, 63) == 64 * 64 * 2);
static_assert(PackedMatrixBytes(DType::kF16, 65, 63) == 2 * 64 * 63 * 2);
static_assert(PackedMatrixBytes(DType::kQ4_0, 64, 64) == 2 * 64 * (16 + 2));
static_assert(PackedMatrixBytes(DType::kQ4_1, 64, 64) == 2 * 64 * (16 + 2 + 2));
static_assert(PackedMatrixBytes(DType::kQ8_0, 64, 64) == 2 * 64 * (32 + 2));
static_assert(PackedMatrixBytes(DType::kI8, 64, 64) == 0);

std::vector<TensorEntry> TensorsOf(const ModelHeader& header, TensorNaming naming, DType dtype) {
  std::vector<TensorEntry> tensors;
  for (const ExpectedTensor& e : ExpectedTensors(header, naming)) {
    TensorEntry tensor;
    tensor.name = e.name;
    tensor.dtype = e.shape.size() == 2 ? dtype : DType::kF32;
    tensor.shape = e.shape;
    tensors.push_back(tensor);
  }
  return tensors;
}

TEST(KvBytes, PublishedFigures) {
  EXPECT_EQ(KvAllocatedBytes(ShapeOf(LawFirm13b()), KvFormat::Both(DType::kF16), 128'000),
            uint64_t{163'840} * 128'000);  // 20.97 GB
  EXPECT_EQ(KvAllocatedBytes(ShapeOf(Llama8b()), KvFormat::Both(DType::kF16), 131'072) / kGib, 16.0);
  EXPECT_EQ(KvAllocatedBytes(ShapeOf(Mistral7b()), KvFormat::Both(DType::kF16), 3904), uint64_t{488} << 20);
  // head_dim is stated and is not hidden / heads.
  const ModelHeader qwen3 = Shape(28, 1024, 3072, 16, 8, 128, 151936, 40960);
  EXPECT_NEAR(KvAllocatedBytes(ShapeOf(qwen3), KvFormat::Both(DType::kF16), 40'960) / kGib, 4.38, 0.006);
}

TEST(KvBytes, RoundUpToTilesOf64Tokens) {
  const uint64_t tile = 64 * 23'040;
  EXPECT_EQ(KvAllocatedBytes(ShapeOf(SmolLm2()), KvFormat::Both(DType::kBf16), 0), 0u);
  EXPECT_EQ(KvAllocatedBytes(ShapeOf(SmolLm2()), KvFormat::Both(DType::kBf16), 1), tile);
  EXPECT_EQ(KvAllocatedBytes(ShapeOf(SmolLm2()), KvFormat::Both(DType::kBf16), 64), tile);
  EXPECT_EQ(KvAllocatedBytes(ShapeOf(SmolLm2()), KvFormat::Both(DType::kBf16), 65), 2 * tile);
  EXPECT_EQ(KvAllocatedBytes(ShapeOf(SmolLm2()), KvFormat::Both(DType::kBf16), INT64_MAX), UINT64_MAX);
}

TEST(PrefillFlops, PiecesOfLlama8b) {
  PlanRequest r;
  r.footprint = MakeFootprint(Llama8b(), {});
  r.document_tokens = 131'072;
  r.question_tokens = r.answer_tokens = 0;
  const std::pair<int64_t, double> published[] = {{1, 6.61}, {4, 3.23}, {8, 2.67}, {16, 2.39}, {32, 2.25}};
  for (const auto& [pieces, peta] : published) {
    const double attention = WorkOf(r, EvenCut(r.document_tokens, pieces)).attention_flops;
    EXPECT_NEAR((2 * 8.03e9 * 131'072 + attention) / 1e15, peta, 0.006) << pieces;
  }
}

TEST(Weights, CountWhatIsLoaded) {
  const ModelHeader tied = Shape(1, 64, 128, 2, 1, 32, 100, 512, true);
  // Table of 100 -> 128 rows; q 64, k and v 32 -> 64 each, output 64, gate and up 128, down 64 rows of 128; 3 norms.
  const uint64_t matrices = 2 * (128 * 64 + 64 * 64 + 2 * 64 * 64 + 64 * 64 + 2 * 128 * 64 + 64 * 128),
                 norms = 3 * 64 * 4;
  for (TensorNaming naming : {TensorNaming::kGguf, TensorNaming::kHuggingFace}) {
    // The list holds what a tied model does not load: a second table and rope frequencies.
    const ModelFootprint f = MakeFootprint(tied, TensorsOf(tied, naming, DType::kBf16));
    EXPECT_EQ(f.weights_bytes, matrices + norms);
    EXPECT_EQ(f.decode_weight_bytes, matrices + norms);
    ModelHeader untied = tied;
    untied.tied_embeddings = false;
    const ModelFootprint g = MakeFootprint(untied, TensorsOf(untied, naming, DType::kBf16));
    EXPECT_EQ(g.weights_bytes, matrices + norms + 2 * 128 * 64);
    EXPECT_EQ(g.decode_weight_bytes, matrices + norms);
  }
}

}  // namespace
}  // namespace attend
