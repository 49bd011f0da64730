#include "measure/model_bench.h"

#include "measure/measure_test_util.h"

namespace attend {
namespace {

using ModelBenchTest = TinyModelTest;

TEST(ModelTestNameTest, NamesAreReadAndWrittenAsTheFieldDoes) {
  const std::pair<const char*, ModelTest> cases[] = {{"pp512", {ModelTestKind::kPrompt, 512, 0}},
                                                     {"pp64@d128", {ModelTestKind::kPrompt, 64, 128}},
                                                     {"tg64", {ModelTestKind::kGeneration, 64, 0}},
                                                     {"tg64@d0", {ModelTestKind::kGeneration, 64, 0}},
                                                     {"tg64 @ d7500", {ModelTestKind::kGeneration, 64, 7500}}};
  for (const auto& [text, test] : cases) {
    const auto parsed = ParseModelTest(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, test) << text;
    EXPECT_EQ(*ParseModelTest(NameOf(test)), test) << text;
  }
  EXPECT_EQ(NameOf({ModelTestKind::kGeneration, 64, 7500}), "tg64 @ d7500");
  EXPECT_EQ(NameOf({ModelTestKind::kPrompt, 512, 0}), "pp512");
}

TEST(ModelTestNameTest, WhatIsNoTestIsRefused) {
  for (const char* text :
       {"", "pp", "pp0", "pp-1", "xx512", "tg64@", "tg64@d", "tg64@7", "tg64@d-1", "pp512x", "pp99999999999"}) {
    const auto parsed = ParseModelTest(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kBadArgument) << text;
  }
  EXPECT_FALSE(ParseModelTests("pp512,"));
  EXPECT_FALSE(ParseModelTests(""));
}

TEST(ModelTestNameTest, SeveralTestsAreSeparatedByCommas) {
  const auto tests = ParseModelTests("pp512, tg64 @ d100");
  ASSERT_TRUE(tests);
  ASSERT_EQ(tests->size(), 2u);
  EXPECT_EQ((*tests)[1].depth, 100);
}

TEST_F(ModelBenchTest, EveryKindOfTestRunsAtAnyDepthInAnyOrder) {
  auto bench = ModelBench::Make(header(), model_.weights, kernels(), pool_, Compute::kBf16, KvFormat{});
  ASSERT_TRUE(bench) << Describe(bench.error());
  for (const char* name : {"pp600", "tg3 @ d70", "tg2", "pp5 @ d600", "tg3 @ d70", "pp1"}) {
    const auto seconds = bench->Run(*ParseModelTest(name));
    ASSERT_TRUE(seconds) << name << ": " << Describe(seconds.error());
    EXPECT_GT(*seconds, 0) << name;
  }
}

TEST_F(ModelBenchTest, TheBoundIsWorkOverPeak) {
  auto bench = ModelBench::Make(header(), model_.weights, kernels(), pool_, Compute::kF32, KvFormat::Both(DType::kF32));
  ASSERT_TRUE(bench);
  Peaks peaks;
  peaks.fma_flops_per_s = 1e9;
  peaks.bf16_flops_per_s = 4e9;
  peaks.read_bytes_per_s = 1e9;
  const double prompt = bench->BoundSeconds(*ParseModelTest("pp100"), peaks);
  const double generation = bench->BoundSeconds(*ParseModelTest("tg10"), peaks);
  EXPECT_GT(prompt, 0);
  EXPECT_GT(generation, 0);
  peaks.fma_flops_per_s /= 2;
  peaks.read_bytes_per_s /= 2;
  EXPECT_DOUBLE_EQ(bench->BoundSeconds(*ParseModelTest("pp100"), peaks), 2 * prompt);
  EXPECT_DOUBLE_EQ(bench->BoundSeconds(*ParseModelTest("tg10"), peaks), 2 * generation);
}

}  // namespace
}  // namespace attend
