// Rows that see nothing, NaN and infinity, stale cache, very long uniform attention: the ways attention kernels are
// known to fail (pitfalls 1, 2, 4, 7, 8, 26 of docs/conformance.md).
#include "attention/attention_test_util.h"

namespace attend {
namespace {

class EdgesTest : public EveryTable {};
ATTEND_FOR_EVERY_TABLE(EdgesTest);

constexpr RunOptions kClasses[] = {kExact, kBf16Class, {Compute::kF32, DType::kBf16, 1}};

// Against another run of the same class and cache, and against the exact result.
double ToleranceOf(const RunOptions& options) {
  return options.compute == Compute::kF32 ? 1e-5 : 2e-2;
}
double ExactToleranceOf(const RunOptions& options) {
  return options.cache == DType::kF32 ? 1e-5 : 2e-2;
}

TEST_P(EdgesTest, RowsThatSeeNothingAreZeroWithLseMinusInfinity) {
  for (const RunOptions& options : kClasses) {
    for (const Mask& mask : {Mask::Causal(), Mask::CausalWindow(3)}) {
      AttentionProblem p{.num_q_heads = 4, .num_kv_heads = 2, .head_dim = 24, .v_head_dim = 8, .mask = mask};
      p.AddRandomSequence(40, 25, 1);  // the first 15 rows see nothing
      p.AddRandomSequence(130, 3, 2);  // whole units of rows see nothing
      p.AddRandomSequence(7, 0, 3);    // no key at all
      p.AddRandomSequence(0, 5, 4);    // no query
      const RunResult got = RunProblem(p, table(), options);
      for (size_t i = 0; i < 4; ++i) {
        const Sequence& s = p.sequences[i];
        const ReferenceResult exact = p.Reference(i);
        for (int64_t row = 0; row < s.q_len * 4; ++row) {
          if (row / 4 + s.kv_len - s.q_len >= 0) continue;
          ASSERT_EQ(got.lse[i][row], -kInfinity) << i << " row " << row;
          for (int64_t c = 0; c < 8; ++c) ASSERT_EQ(got.out[i][row * 8 + c], 0.0f) << i << " row " << row;
        }
        ASSERT_LE(LargestDifference(got.out[i], exact.out), ExactToleranceOf(options)) << i;
      }
    }
  }
}

TEST_P(EdgesTest, WindowLongerThanTheKeysAndWindowOfOne) {
  for (const RunOptions& options : kClasses) {
    AttentionProblem p{.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 16, .v_head_dim = 16};
    p.AddRandomSequence(70, 200, 5);
    const RunResult causal = RunProblem(p, table(), options);
    p.mask = Mask::CausalWindow(200);
    EXPECT_TRUE(SameBits(RunProblem(p, table(), options).out[0], causal.out[0]));
    p.mask = Mask::CausalWindow(1);  // out is the row's own value
    const RunResult own = RunProblem(p, table(), options);
    for (int64_t i = 0; i < 70 * 2; ++i) {
      for (int64_t c = 0; c < 16; ++c) {
        ASSERT_NEAR(own.out[0][i * 16 + c], p.sequences[0].v[(i / 2 + 130) * 16 + c], ExactToleranceOf(options));
      }
    }
  }
}

// The window leaves whole tiles before it unseen: garbage there, even NaN, must not be felt.
TEST_P(EdgesTest, KeysBeforeTheWindowAreNeverFelt) {
  for (const RunOptions& options : kClasses) {
    AttentionProblem p{
        .num_q_heads = 2, .num_kv_heads = 1, .head_dim = 16, .v_head_dim = 16, .mask = Mask::CausalWindow(20)};
    p.AddRandomSequence(9, 300, 6);
    const RunResult clean = RunProblem(p, table(), options);
    Sequence& s = p.sequences[0];
    for (int64_t i = 0; i < (300 - 9 - 19) * 16; ++i) s.k[i] = s.v[i] = i % 2 == 0 ? kNan : kInfinity;
    const RunResult got = RunProblem(p, table(), options);
    EXPECT_LE(LargestDifference(got.out[0], clean.out[0]), ToleranceOf(options));
    EXPECT_LE(LargestDifference(got.lse[0], clean.lse[0]), ToleranceOf(options));
  }
}

// NaN at one key (of K or V) or query: exactly the rows that see it have it, and of V only the column.
void ExpectNanExactly(const AttentionProblem& p, const RunResult& clean, const RunResult& got,
                      const RunOptions& options,
                      const std::function<bool(int64_t query, int64_t head, int64_t column)>& poisoned, bool in_lse) {
  const Sequence& s = p.sequences[0];
  for (int64_t row = 0; row < s.q_len * p.num_q_heads; ++row) {
    const int64_t query = row / p.num_q_heads, head = row % p.num_q_heads;
    const bool lse_nan = in_lse && poisoned(query, head, 0);
    ASSERT_EQ(std::isnan(got.lse[0][row]), lse_nan) << "lse of query " << query << " head " << head;
    for (int64_t c = 0; c < p.v_head_dim; ++c) {
      const float value = got.out[0][row * p.v_head_dim + c];
      ASSERT_EQ(std::isnan(value), poisoned(query, head, c))
          << "query " << query << " head " << head << " column " << c;
      if (std::isnan(value)) continue;
      ASSERT_NEAR(value, clean.out[0][row * p.v_head_dim + c], ToleranceOf(options));
    }
  }
}

TEST_P(EdgesTest, NanReachesExactlyTheRowsThatSeeIt) {
  struct Size {
    int64_t q_len, kv_len;
  };
  for (const RunOptions& options : kClasses) {
    for (const Mask& mask : {Mask::Causal(), Mask::CausalWindow(30)}) {
      for (const Size& size :
           {Size{70, 130}, Size{5, 77}, Size{3, 1601}}) {  // two-pass tiles, direct tiles, split keys
        AttentionProblem p{.num_q_heads = 6, .num_kv_heads = 2, .head_dim = 18, .v_head_dim = 10, .mask = mask};
        p.AddRandomSequence(size.q_len, size.kv_len, 7);
        const RunResult clean = RunProblem(p, table(), options);
        const Sequence& s = p.sequences[0];
        const VisibleFn visible = p.VisibleOf(s);
        for (int64_t key : {size.kv_len - 1, size.kv_len - 2, size.kv_len - 20, size.kv_len - 66}) {
          const int64_t kv_head = key % 2;
          const auto sees = [&](int64_t query, int64_t head, int64_t) {
            return head / 3 == kv_head && visible(query, key);
          };
          AttentionProblem bad = p;
          bad.sequences[0].k[(key * 2 + kv_head) * 18 + 17] = kNan;
          ExpectNanExactly(bad, clean, RunProblem(bad, table(), options), options, sees, true);
          bad = p;
          bad.sequences[0].v[(key * 2 + kv_head) * 10 + 9] = kNan;
          const auto in_column = [&](int64_t query, int64_t head, int64_t c) { return c == 9 && sees(query, head, c); };
          ExpectNanExactly(bad, clean, RunProblem(bad, table(), options), options, in_column, false);
          if (HasFailure()) return;
        }
        AttentionProblem bad = p;
        const int64_t query = size.q_len / 2;
        bad.sequences[0].q[(query * 6 + 4) * 18] = kNan;
        const auto one_row = [&](int64_t q, int64_t head, int64_t) { return q == query && head == 4; };
        ExpectNanExactly(bad, clean, RunProblem(bad, table(), options), options, one_row, true);
        if (HasFailure()) return;
      }
    }
  }
}

// What a truncated cache leaves behind in its last tile is never read, for any count of keys and any mask.
TEST_P(EdgesTest, StaleKeysBeyondTheLengthAreNeverFelt) {
  for (const RunOptions& options : kClasses) {
    for (const Mask& mask : {Mask::None(), Mask::Causal()}) {
      for (int64_t kv_len : {1, 15, 16, 17, 31, 32, 63, 64, 65, 81, 127}) {
        for (int64_t q_len : {1, 5, 13, 100}) {
          AttentionProblem p{.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 17, .v_head_dim = 5, .mask = mask};
          p.AddRandomSequence(q_len, kv_len, 8);
          const RunResult clean = RunProblem(p, table(), options);
          Sequence dirty = p.sequences[0];
          dirty.k.resize(static_cast<size_t>(140 * 17), kNan);
          dirty.v.resize(static_cast<size_t>(140 * 5), kNan);
          std::vector<KvCache> caches;
          caches.push_back(MakeCache(p, dirty, options.cache));
          const RunResult shorter = RunOver(p, caches, table(), options);
          caches[0].Truncate(kv_len);
          const RunResult truncated = RunOver(p, caches, table(), options);
          ASSERT_LE(LargestDifference(shorter.out[0], clean.out[0]), ToleranceOf(options)) << kv_len << " " << q_len;
          ASSERT_LE(LargestDifference(truncated.out[0], clean.out[0]), ToleranceOf(options)) << kv_len << " " << q_len;
          ASSERT_EQ(truncated.lse[0], clean.lse[0]) << kv_len << " " << q_len;
        }
      }
    }
  }
}

// An accumulator that stalls, or weights and their sum that round differently, show here: 32k equal keys, V = 1.
TEST_P(EdgesTest, UniformAttentionOverALongTextGivesExactlyOne) {
  for (int64_t kv_len : {32768, 32749}) {
    for (int64_t q_len : {1, 97}) {
      AttentionProblem p{.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 2, .v_head_dim = 3};
      p.sequences.push_back({q_len, kv_len, std::vector<float>(static_cast<size_t>(q_len * 2), 0.7f),
                             std::vector<float>(static_cast<size_t>(kv_len * 2), 1.3f),
                             std::vector<float>(static_cast<size_t>(kv_len * 3), 1.0f)});
      for (const RunOptions& options : kClasses) {
        const RunResult got = RunProblem(p, table(), options);
        for (float x : got.out[0]) ASSERT_EQ(x, 1.0f) << kv_len << " " << q_len;
      }
    }
  }
}

// One more dimension adds the same number to every score. With scores exact in float the output keeps its bits.
TEST_P(EdgesTest, AddingAConstantToAllScoresChangesNothing) {
  AttentionProblem p{.num_q_heads = 4, .num_kv_heads = 2, .head_dim = 8, .v_head_dim = 16, .scale = 0.125f};
  p.AddRandomSequence(21, 150, 9);
  for (std::vector<float>* x : {&p.sequences[0].q, &p.sequences[0].k}) {
    for (float& v : *x) v = std::round(v * 4);
  }
  AttentionProblem shifted = p;
  for (int64_t t = 0; t < 21 * 4; ++t) p.sequences[0].q[t * 8 + 7] = 0, shifted.sequences[0].q[t * 8 + 7] = 64;
  for (int64_t t = 0; t < 150 * 2; ++t) p.sequences[0].k[t * 8 + 7] = shifted.sequences[0].k[t * 8 + 7] = 128;
  for (const RunOptions& options : kClasses) {
    const RunResult plain = RunProblem(p, table(), options), moved = RunProblem(shifted, table(), options);
    EXPECT_TRUE(SameBits(plain.out[0], moved.out[0]));
    for (size_t i = 0; i < plain.lse[0].size(); ++i) ASSERT_NEAR(moved.lse[0][i], plain.lse[0][i] + 1024, 2e-4);
  }
}

// Very negative scores that are visible survive a masked block before them (no finite sentinel).
TEST_P(EdgesTest, VeryNegativeScoresSurvive) {
  AttentionProblem p{
      .num_q_heads = 1, .num_kv_heads = 1, .head_dim = 1, .v_head_dim = 1, .mask = Mask::CausalWindow(70), .scale = 1};
  p.sequences.push_back(
      {2, 200, std::vector<float>(2, -1e18f), std::vector<float>(200, 1e18f), std::vector<float>(200, 3.0f)});
  for (const RunOptions& options : kClasses) {
    const RunResult got = RunProblem(p, table(), options);
    for (float x : got.out[0]) EXPECT_EQ(x, 3.0f);
    for (float x : got.lse[0]) EXPECT_NEAR(x, -1e36f, 1e34f);
  }
}

}  // namespace
}  // namespace attend
