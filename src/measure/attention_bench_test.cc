#include "measure/attention_bench.h"

#include <gtest/gtest.h>

#include "kernels/dispatch.h"
#include "measure/fill_cache.h"

namespace attend {
namespace {

TEST(AttentionBenchTest, BothKindsRunInBothFormats) {
  ThreadPool pool(2);
  for (DType dtype : {DType::kBf16, DType::kF32}) {
    auto bench = AttentionBench::Make({.num_q_heads = 4,
                                       .num_kv_heads = 2,
                                       .head_dim = 24,
                                       .tokens = 5000,
                                       .kv_format = dtype,
                                       .compute = Compute::kBf16},
                                      KernelsFor(DetectMachine().isa), pool);
    ASSERT_TRUE(bench) << Describe(bench.error());
    EXPECT_GT(*bench->Prefill(), 0);
    EXPECT_GT(*bench->Decode(), 0);
    EXPECT_DOUBLE_EQ(bench->PrefillFlops(), 4.0 * 4 * 24 * (5000.0 * 5001 / 2));
    EXPECT_DOUBLE_EQ(bench->DecodeBytes(), 5000.0 * 2 * 2 * 24 * (dtype == DType::kF32 ? 4 : 2));
  }
}

TEST(AttentionBenchTest, HeadsThatDoNotDivideAreRefused) {
  ThreadPool pool(1);
  const auto bench = AttentionBench::Make({.num_q_heads = 5, .num_kv_heads = 2}, KernelsFor(Isa::kScalar), pool);
  ASSERT_FALSE(bench);
  EXPECT_EQ(bench.error().code, ErrorCode::kAttentionBadShape);
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
