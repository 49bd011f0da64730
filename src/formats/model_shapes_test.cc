#include "formats/model_shapes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "formats/model_shapes_test_util.h"

namespace attend {
namespace {

TEST(ModelShapes, KvBytesPerTokenAsPublished) {
  EXPECT_EQ(ShapeOf(LawFirm13b()).KvBytesPerToken(KvFormat::Both(DType::kF16)), 163'840u);
  EXPECT_EQ(ShapeOf(Llama8b()).KvBytesPerToken(KvFormat::Both(DType::kF16)), 131'072u);
  EXPECT_EQ(ShapeOf(SmolLm2()).KvBytesPerToken(KvFormat::Both(DType::kBf16)), 23'040u);
  EXPECT_EQ(ShapeOf(SmolLm2()).KvBytesPerToken(KvFormat::Both(DType::kF32)), 46'080u);
}

TEST(ModelShapes, FlopsOfASmallModel) {
  EXPECT_EQ(LinearFlopsPerToken(SmolLm2()), 212'336'640);
  EXPECT_EQ(ShapeOf(SmolLm2()).LinearFlops(10), 2'123'366'400 + 2.0 * 49152 * 576);
  EXPECT_NEAR(ShapeOf(SmolLm2()).AttentionFlops(7500, 0), 1.944e12, 0.001e12);
}

TEST(ModelShapes, AttentionShareOfLlama8b) {
  const ModelHeader h = Llama8b();
  EXPECT_NEAR(ShapeOf(h).LinearFlops(131'072) / 1e15, 1.83, 0.005);
  EXPECT_NEAR(ShapeOf(h).AttentionFlops(131'072, 0) / 1e15, 4.50, 0.005);
  const auto share = [&](double linear, int64_t tokens) {
    const double attention = ShapeOf(h).AttentionFlops(tokens, 0);
    return 100 * attention / (linear + attention);
  };
  const std::pair<int64_t, double> ours[] = {{4096, 7.1}, {32'768, 38.1}, {131'072, 71.1}};
  for (const auto& [tokens, percent] : ours)
    EXPECT_NEAR(share(ShapeOf(h).LinearFlops(tokens), tokens), percent, 0.06) << tokens;
  // By the convention that counts every parameter for every token.
  const std::pair<int64_t, double> counted_whole[] = {{4096, 6}, {32'768, 35}, {131'072, 68}};
  for (const auto& [tokens, percent] : counted_whole)
    EXPECT_NEAR(share(2 * 8.03e9 * static_cast<double>(tokens), tokens), percent, 0.6) << tokens;
}

TEST(ModelShapes, LawFirm) {
  // 4 T^2 D L without the causal half: 1.34e16; causal counts half and a diagonal.
  const double whole = 4.0 * 128'000 * 128'000 * 5120 * 40;
  EXPECT_NEAR(whole / 1e16, 1.34, 0.005);
  EXPECT_NEAR(ShapeOf(LawFirm13b()).AttentionFlops(128'000, 0), whole / 2, whole / 2 / 100'000);
}

RC_GTEST_PROP(ModelShapes, ChunksAddUpToOnePassExactly, ()) {
  const int64_t tokens = *rc::gen::inRange<int64_t>(1, 100'000), chunk = *rc::gen::inRange<int64_t>(1, 5000);
  double attention = 0;
  for (int64_t first = 0; first < tokens; first += chunk)
    attention += ShapeOf(SmolLm2()).AttentionFlops(std::min(chunk, tokens - first), first);
  RC_ASSERT(attention == ShapeOf(SmolLm2()).AttentionFlops(tokens, 0));
}

}  // namespace
}  // namespace attend
