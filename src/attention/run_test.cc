// What RunAttention refuses, what it counts, and single rows of weights.
#include "attention/run.h"

#include "attention/attention_test_util.h"
#include "base/half.h"

namespace attend {
namespace {

struct Refusal {
  std::string subject;
  CacheDescriptor layer;
  int64_t tokens;
};

TEST(RunTest, CachesThatDoNotMatchTheScheduleAreRefusedByName) {
  const std::vector<int64_t> q_lens = {3}, kv_lens = {70};
  const auto schedule = ScheduleAttention({4, 2, 40, 24, q_lens, kv_lens}, {.compute = Compute::kF32});
  ASSERT_TRUE(schedule);
  const CacheDescriptor good{
      .num_kv_heads = 2, .k_head_dim = 40, .v_head_dim = 24, .format = KvFormat::Both(DType::kF32)};
  CacheDescriptor heads = good, k = good, v = good, k_small = good;
  heads.num_kv_heads = 4;
  k.k_head_dim = 64;
  k_small.k_head_dim = 32;
  v.v_head_dim = 48;
  const Refusal refusals[] = {{"cache of sequence 0 num_kv_heads", heads, 70},
                              {"cache of sequence 0 k_dim", k, 70},
                              {"cache of sequence 0 k_dim", k_small, 70},
                              {"cache of sequence 0 v_width", v, 70},
                              {"cache of sequence 0 tokens", good, 69}};
  std::vector<float> q(3 * 160), out(3 * 96);
  ThreadPool pool(1);
  AttentionWorkspace workspace;
  const auto run = [&](std::span<const KvView> views) {
    return RunAttention(*schedule, {q.data(), 160}, views, {out.data(), 96, nullptr}, kScalarKernels, pool, workspace);
  };
  for (const Refusal& refusal : refusals) {
    KvCache cache = *KvCache::Make({refusal.layer});
    ASSERT_TRUE(cache.Extend(refusal.tokens));
    const KvView views[] = {cache.View(0)};
    const auto result = run(views);
    ASSERT_FALSE(result) << refusal.subject;
    EXPECT_EQ(result.error().code, ErrorCode::kAttentionBadShape);
    EXPECT_EQ(result.error().subject, refusal.subject);
  }
  const auto none = run({});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().subject, "caches");

  KvCache cache = *KvCache::Make({good});
  ASSERT_TRUE(cache.Extend(70));
  const KvView views[] = {cache.View(0)};
  EXPECT_TRUE(run(views));  // and lse may be null
}

TEST(RunTest, AnEmptyBatchDoesNothing) {
  AttentionProblem p;
  const RunResult got = RunProblem(p, kScalarKernels, kExact);
  EXPECT_EQ(got.counters.rows, 0);
  EXPECT_EQ(got.counters.units, 0);
}

// The same schedule and workspace run many times, and the workspace stays as large as the largest call.
TEST(RunTest, AScheduleRunsManyTimesOverOneWorkspace) {
  AttentionProblem p{.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 16, .v_head_dim = 16};
  p.AddRandomSequence(2, 1500, 1);
  const Sequence& s = p.sequences[0];
  const KvCache cache = MakeCache(p, s, DType::kF32);
  const std::vector<int64_t> q_lens = {2}, kv_lens = {1500};
  const auto schedule = ScheduleAttention({2, 1, 16, 16, q_lens, kv_lens}, {.compute = Compute::kF32});
  ThreadPool pool(3);
  AttentionWorkspace workspace;
  std::vector<float> first;
  for (int i = 0; i < 20; ++i) {
    std::vector<float> out(2 * 32), lse(4);
    const KvView views[] = {cache.View(0)};
    const auto counters = RunAttention(*schedule, {s.q.data(), 32}, views, {out.data(), 32, lse.data()},
                                       *TablesHere().back(), pool, workspace);
    ASSERT_TRUE(counters);
    EXPECT_EQ(counters->rows, 4);
    EXPECT_EQ(counters->units, 3);  // 1500 keys in chunks of 512
    if (i == 0) first = out;
    EXPECT_TRUE(SameBits(out, first));
  }
  const KvView views[] = {cache.View(0)};
  EXPECT_EQ(workspace.size_bytes(), *AttentionWorkspaceBytes(*schedule, views, nullptr, 3));
}

// Memory beyond inputs and outputs does not grow with the text (pitfall 19): only with threads and split chunks.
TEST(RunTest, WorkspaceDoesNotGrowWithThePrompt) {
  uint64_t bytes[2];
  int i = 0;
  const KvView views[] = {{.num_tokens = 100000, .num_kv_heads = 2, .k_dim = 64, .v_width = 64}};
  for (int64_t length : {1600, 100000}) {
    const std::vector<int64_t> lens = {length};
    bytes[i++] = *AttentionWorkspaceBytes(*ScheduleAttention({8, 2, 64, 64, lens, lens}, {}), views, nullptr, 4);
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

class RowWeightsTest : public EveryTable {};
ATTEND_FOR_EVERY_TABLE(RowWeightsTest);

TEST_P(RowWeightsTest, RowsSumToOneAndAreTheReference) {
  for (const RunOptions& options : {kExact, kBf16Class, RunOptions{Compute::kF32, DType::kBf16, 1}}) {
    for (const Mask& mask : {Mask::Causal(), Mask::CausalWindow(21), Mask::None()}) {
      AttentionProblem p{.num_q_heads = 6, .num_kv_heads = 2, .head_dim = 18, .v_head_dim = 4, .mask = mask};
      p.AddRandomSequence(9, 150, 2);
      Sequence& s = p.sequences[0];
      if (options.cache == DType::kBf16) {
        for (float& x : s.k) x = RoundToBf16(x);
      }
      if (options.compute == Compute::kBf16) {
        for (float& x : s.q) x = RoundToBf16(x);
      }
      const RunResult run = RunProblem(p, table(), options);
      const ReferenceResult exact = p.Reference();
      const std::vector<float> all = WeightsOf(p, table(), options, run.lse[0]);
      for (int64_t row = 0; row < 9 * 6; ++row) {
        double sum = 0;
        // In class bf16 lse is that of the rounded weights.
        const double tolerance = options.compute == Compute::kF32 ? 1e-5 : 4e-3;
        for (int64_t at = row * 150; at < (row + 1) * 150; ++at) {
          sum += all[at];
          ASSERT_NEAR(all[at], exact.weights[at], tolerance) << row << " " << at;
        }
        ASSERT_NEAR(sum, 1.0, tolerance) << row;
      }
    }
  }
}

}  // namespace
}  // namespace attend
