#include "measure/attention_bench.h"

#include <gtest/gtest.h>

#include "kernels/dispatch.h"
#include "measure/attention_bars.h"
#include "measure/attention_errors.h"
#include "measure/fill_cache.h"

namespace attend {
namespace {

AttentionCase CaseOf(const std::string& line) {
  return (*ParseAttentionCases(line, {Compute::kBf16, KvFormat{}}))[0];
}

TEST(AttentionBenchTest, PromptsRunOnceAndOneTokenOverManyLayers) {
  ThreadPool pool(2);
  const KernelTable& kernels = KernelsFor(DetectMachine().isa);
  auto prompt = AttentionBench::Make(CaseOf("heads=4/2 dim=24 q=500"), kernels, pool);
  ASSERT_TRUE(prompt) << Describe(prompt.error());
  EXPECT_GT(*prompt->Run(), 0);
  EXPECT_EQ(prompt->num_layers(), 1);
  EXPECT_DOUBLE_EQ(prompt->Flops(), 4.0 * 4 * 24 * (500.0 * 501 / 2));
  auto token = AttentionBench::Make(CaseOf("heads=4/2 dim=24 q=1 kv=50000"), kernels, pool);
  ASSERT_TRUE(token) << Describe(token.error());
  EXPECT_GT(*token->Run(), 0);
  EXPECT_DOUBLE_EQ(token->KvBytes(), 50000.0 * 2 * 2 * 24 * 2);
  EXPECT_GE(static_cast<double>(token->num_layers()) * token->KvBytes(), 256.0 * (1 << 20));
}

TEST(AttentionBenchTest, HeadsThatDoNotDivideAreRefused) {
  ThreadPool pool(1);
  const auto bench = AttentionBench::Make(CaseOf("heads=5/2 q=3"), KernelsFor(Isa::kScalar), pool);
  ASSERT_FALSE(bench);
  EXPECT_EQ(bench.error().code, ErrorCode::kAttentionBadShape);
}

TEST(AttentionErrorsTest, MoreBitsMeanSmallerErrors) {
  ThreadPool pool(2);
  const auto errors = MeasureAttentionErrors({300}, KernelsFor(DetectMachine().isa), pool);
  ASSERT_TRUE(errors);
  const auto error_of = [&](Compute compute, const char* format, CaseValues values) {
    for (const AttentionError& e : *errors) {
      if (e.compute == compute && NameOf(e.format) == format && e.values == values) return e.relative_rms;
    }
    return std::numeric_limits<double>::quiet_NaN();  // less than nothing and more than nothing
  };
  const CaseValues normal = CaseValues::kNormal, outliers = CaseValues::kOutliers;
  EXPECT_LT(error_of(Compute::kF32, "f32", normal), 1e-5);
  EXPECT_LT(error_of(Compute::kBf16, "bf16", normal), error_of(Compute::kBf16, "q8", normal));
  EXPECT_LT(error_of(Compute::kBf16, "q8", normal), error_of(Compute::kBf16, "q4", normal));
  EXPECT_LT(error_of(Compute::kBf16, "q4", outliers), error_of(Compute::kBf16, "q4-h", outliers));
  EXPECT_LT(error_of(Compute::kInt8, "q8", normal), 0.05);
}

TEST(AttentionBarsTest, GroupsCanBeStopped) {
  ThreadPool pool(1);
  std::vector<std::string> groups;
  const auto bars = MeasureAttentionBars(DetectMachine(), pool, {1, 0, [&](const std::string& next, int, int total) {
                                                                   groups.push_back(next);
                                                                   EXPECT_EQ(total, 9);
                                                                   return false;
                                                                 }});
  ASSERT_FALSE(bars);
  EXPECT_EQ(bars.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(groups, std::vector<std::string>{"prompts"});
  Bar bar{"x", 0.75, true, 0.7, 0, ""};
  EXPECT_FALSE(bar.passed());
  bar.at_least = false;
  EXPECT_TRUE(bar.passed());
}

TEST(FillCacheTest, EveryTokenOfEveryLayerIsWritten) {
  ThreadPool pool(2);
  auto cache = KvCache::Make(std::vector<CacheDescriptor>(3, {.num_kv_heads = 2, .k_head_dim = 8, .v_head_dim = 12}));
  ASSERT_TRUE(cache);
  ASSERT_TRUE(FillCache(*cache, 70, pool));
  ASSERT_TRUE(FillCache(*cache, 130, pool));
  EXPECT_EQ(cache->num_tokens(), 130);
  for (int64_t token : {0, 63, 64, 69, 70, 129}) {
    float k[8], v[12];
    cache->Read(2, 1, token, k, v);
    EXPECT_NE(k[7], 0) << token;
    EXPECT_NE(v[11], 0) << token;
    EXPECT_LE(std::abs(k[0]), 1) << token;
  }
}

}  // namespace
}  // namespace attend
