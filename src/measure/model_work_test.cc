#include "measure/model_work.h"

#include "measure/measure_test_util.h"

namespace attend {
namespace {

using ModelWorkTest = TinyModelTest;

// SmolLM2-135M: the figures of the speed tables (0.212 GFLOP a token, 1.9 TFLOP of attention at 7,500, 23 kB of cache a
// token).
ModelHeader SmolLm2() {
  ModelHeader h;
  h.num_layers = 30;
  h.hidden_size = 576;
  h.intermediate_size = 1536;
  h.num_q_heads = 9;
  h.num_kv_heads = 3;
  h.head_dim = h.v_head_dim = 64;
  h.vocab_size = 49152;
  return h;
}

TEST(ModelWorkOfHeaderTest, SmolLm2) {
  EXPECT_DOUBLE_EQ(LinearFlopsPerToken(SmolLm2()), 212336640);
  EXPECT_NEAR(AttentionFlops(SmolLm2(), 7500, 0), 1.944e12, 0.001e12);
  EXPECT_DOUBLE_EQ(CacheBytesPerToken(SmolLm2(), DType::kBf16), 23040);
  EXPECT_DOUBLE_EQ(CacheBytesPerToken(SmolLm2(), DType::kF32), 46080);
}

TEST(ModelWorkOfHeaderTest, APromptInTwoPartsDoesTheAttentionOfTheWhole) {
  const ModelHeader h = SmolLm2();
  EXPECT_DOUBLE_EQ(AttentionFlops(h, 300, 0) + AttentionFlops(h, 212, 300), AttentionFlops(h, 512, 0));
}

TEST_F(ModelWorkTest, AnEmbeddingThatIsNotTheHeadIsNotRead) {
  ASSERT_FALSE(header().tied_embeddings);
  const double all = static_cast<double>(model_.weights.size_bytes());
  EXPECT_DOUBLE_EQ(WeightBytesRead(model_.weights), all - static_cast<double>(model_.weights.embedding.size_bytes()));
}

TEST_F(ModelWorkTest, GenerationReadsWeightsOnceATokenAndTheCacheAsItGrows) {
  const double weights = WeightBytesRead(model_.weights), cached = CacheBytesPerToken(header(), DType::kBf16);
  EXPECT_DOUBLE_EQ(GenerationBytes(header(), model_.weights, DType::kBf16, 1, 0), weights + cached);
  EXPECT_DOUBLE_EQ(GenerationBytes(header(), model_.weights, DType::kBf16, 2, 10), 2 * weights + (11 + 12) * cached);
}

}  // namespace
}  // namespace attend
