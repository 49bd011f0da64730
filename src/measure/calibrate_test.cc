#include "measure/calibrate.h"

#include <cmath>

#include "measure/measure_test_util.h"
#include "measure/synthetic_model.h"

namespace attend {
namespace {

using CalibrateTest = TinyModelTest;

TEST_F(CalibrateTest, EveryRateIsPositiveAndSaysWhatItIsOf) {
  const auto c = Calibrate(machine_, kernels(), pool_, Compute::kBf16, KvFormat{}, header());
  ASSERT_TRUE(c) << Describe(c.error());
  EXPECT_EQ(c->cpu_name, machine_.cpu_name);
  EXPECT_EQ(c->isa, kernels().name);
  EXPECT_EQ(c->threads, 2);
  EXPECT_EQ(c->compute, Compute::kBf16);
  for (double rate : {c->linear_flops_per_s, c->attention_flops_per_s, c->weight_bytes_per_s, c->kv_bytes_per_s}) {
    EXPECT_GT(rate, 0);
    EXPECT_TRUE(std::isfinite(rate));
  }
  EXPECT_GT(c->element_s_per_token, 0);
}

TEST_F(CalibrateTest, ASyntheticModelHasTheHeadersShapesAndFitsItsBytes) {
  ModelHeader wide = header();
  wide.hidden_size = 256;
  wide.intermediate_size = 1024;
  wide.num_layers = 1000;
  wide.vocab_size = 1 << 20;
  const auto model = MakeSyntheticModel(wide, 4 << 20, pool_);
  ASSERT_TRUE(model) << Describe(model.error());
  EXPECT_EQ(model->weights.layers.size(), model->header.num_layers);
  EXPECT_GT(model->header.num_layers, 1u);
  EXPECT_LT(model->header.num_layers, 1000u);
  EXPECT_EQ(model->header.vocab_size, kSyntheticVocabulary);
  EXPECT_FALSE(model->weights.FindNonfinite());
  const uint64_t layers = model->weights.size_bytes() - model->weights.embedding.size_bytes();
  EXPECT_LE(layers, uint64_t{5} << 20);
  EXPECT_EQ(model->weights.layers[0].down.num_inputs(), 1024);
}

TEST_F(CalibrateTest, AModelLargerThanTheBytesKeepsOneLayer) {
  const auto model = MakeSyntheticModel(header(), 1, pool_);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->header.num_layers, 1u);
}

}  // namespace
}  // namespace attend
