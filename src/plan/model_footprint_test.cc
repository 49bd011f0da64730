#include "plan/model_footprint.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "formats/expected_tensors.h"
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
  EXPECT_EQ(KvBytesPerToken(LawFirm13b(), DType::kF16), 163'840u);
  EXPECT_EQ(KvAllocatedBytes(LawFirm13b(), DType::kF16, 128'000), uint64_t{163'840} * 128'000);  // 20.97 GB
  EXPECT_EQ(KvBytesPerToken(Llama8b(), DType::kF16), 131'072u);
  EXPECT_EQ(KvAllocatedBytes(Llama8b(), DType::kF16, 131'072) / kGib, 16.0);
  EXPECT_EQ(KvBytesPerToken(SmolLm2(), DType::kBf16), 23'040u);
  EXPECT_EQ(KvAllocatedBytes(Mistral7b(), DType::kF16, 3904), uint64_t{488} << 20);
  // head_dim is stated and is not hidden / heads.
  const ModelHeader qwen3 = Shape(28, 1024, 3072, 16, 8, 128, 151936, 40960);
  EXPECT_NEAR(KvAllocatedBytes(qwen3, DType::kF16, 40'960) / kGib, 4.38, 0.006);
}

TEST(KvBytes, RoundUpToTilesOf64Tokens) {
  const uint64_t tile = 64 * 23'040;
  EXPECT_EQ(KvAllocatedBytes(SmolLm2(), DType::kBf16, 0), 0u);
  EXPECT_EQ(KvAllocatedBytes(SmolLm2(), DType::kBf16, 1), tile);
  EXPECT_EQ(KvAllocatedBytes(SmolLm2(), DType::kBf16, 64), tile);
  EXPECT_EQ(KvAllocatedBytes(SmolLm2(), DType::kBf16, 65), 2 * tile);
  EXPECT_EQ(KvAllocatedBytes(SmolLm2(), DType::kBf16, INT64_MAX), UINT64_MAX);
}

TEST(PrefillFlops, Llama8bAttentionShare) {
  const ModelFootprint f = MakeFootprint(Llama8b(), {});
  EXPECT_NEAR(PrefillLinearFlops(f, 131'072, true) / 1e15, 1.83, 0.005);
  EXPECT_NEAR(PrefillAttentionFlops(f.header, 0, 131'072) / 1e15, 4.50, 0.005);
  const auto share = [&](double linear, int64_t tokens) {
    const double attention = PrefillAttentionFlops(f.header, 0, tokens);
    return 100 * attention / (linear + attention);
  };
  const std::pair<int64_t, double> ours[] = {{4096, 7.1}, {32'768, 38.1}, {131'072, 71.1}};
  for (const auto& [tokens, percent] : ours)
    EXPECT_NEAR(share(PrefillLinearFlops(f, tokens, true), tokens), percent, 0.06) << tokens;
  // By the convention that counts every parameter for every token.
  const std::pair<int64_t, double> counted_whole[] = {{4096, 6}, {32'768, 35}, {131'072, 68}};
  for (const auto& [tokens, percent] : counted_whole)
    EXPECT_NEAR(share(2 * 8.03e9 * static_cast<double>(tokens), tokens), percent, 0.6) << tokens;
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

TEST(PrefillFlops, LawFirm) {
  // 4 T^2 D L without the causal half: 1.34e16; causal counts half and a diagonal.
  const double whole = 4.0 * 128'000 * 128'000 * 5120 * 40;
  EXPECT_NEAR(whole / 1e16, 1.34, 0.005);
  EXPECT_NEAR(PrefillAttentionFlops(LawFirm13b(), 0, 128'000), whole / 2, whole / 2 / 100'000);
}

RC_GTEST_PROP(PrefillFlops, ChunksAddUpToOnePassExactly, ()) {
  const ModelFootprint f = MakeFootprint(SmolLm2(), {});
  const int64_t tokens = *rc::gen::inRange<int64_t>(1, 100'000), chunk = *rc::gen::inRange<int64_t>(1, 5000);
  double linear = 0, attention = 0;
  for (int64_t first = 0; first < tokens; first += chunk) {
    const int64_t count = std::min(chunk, tokens - first);
    linear += PrefillLinearFlops(f, count, first + count == tokens);
    attention += PrefillAttentionFlops(f.header, first, count);
  }
  RC_ASSERT(linear == PrefillLinearFlops(f, tokens, true));
  RC_ASSERT(attention == PrefillAttentionFlops(f.header, 0, tokens));
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
