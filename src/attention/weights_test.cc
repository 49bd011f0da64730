// Parts of the attention matrix on demand against the whole of it in double precision, and rectangles that do not
// exist.
#include "attention/weights.h"

#include "attention/attention_test_util.h"

namespace attend {
namespace {

// A problem that has run once: what a caller who asks for weights has at hand.
struct Ran {
  Ran(AttentionProblem problem, Compute compute, DType cache_type, const KernelTable& table,
      std::span<const float> head_scales = {})
      : p(std::move(problem)), kernels(table) {
    Sequence& s = p.sequences[0];
    caches.push_back(MakeCache(p, s, cache_type));
    AttentionOptions options = p.OptionsOf(compute);
    options.head_scales = head_scales;
    const std::vector<int64_t> q_lens = {s.q_len}, kv_lens = {s.kv_len};
    const auto made =
        ScheduleAttention({p.num_q_heads, p.num_kv_heads, p.head_dim, p.v_head_dim, q_lens, kv_lens}, options);
    EXPECT_TRUE(made) << (made ? "" : Describe(made.error()));
    schedule = *made;
    views = {caches[0].View(0)};
    lse.resize(static_cast<size_t>(s.q_len * p.num_q_heads));
    std::vector<float> out(lse.size() * static_cast<size_t>(p.v_head_dim));
    ThreadPool pool(2);
    AttentionWorkspace workspace;
    const AttentionOutput output = {.out = out.data(), .stride = p.num_q_heads * p.v_head_dim, .lse = lse.data()};
    EXPECT_TRUE(RunAttention(schedule, Queries(), views, output, kernels, pool, workspace));
  }

  AttentionQueries Queries() const { return {p.sequences[0].q.data(), p.num_q_heads * p.head_dim}; }

  Result<void> Weights(const WeightsRectangle& r, std::vector<float>& weights) const {
    const int64_t size = (r.tokens.end - r.tokens.begin) * (r.keys.end - r.keys.begin);
    weights.assign(static_cast<size_t>(std::max<int64_t>(size, 0)) + 1, -7.0f);  // one more: it must stay
    return AttentionWeights(schedule, Queries(), views, lse.data(), r, kernels, weights.data());
  }

  // Over the keys that the cache holds.
  std::vector<double> Exact(std::span<const float> head_scales) const {
    Sequence stored = p.sequences[0];
    std::vector<float> k(static_cast<size_t>(p.head_dim)), v(static_cast<size_t>(p.v_head_dim));
    for (int64_t at = 0; at < stored.kv_len * p.num_kv_heads; ++at) {
      caches[0].Read(0, at % p.num_kv_heads, at / p.num_kv_heads, k.data(), v.data());
      std::copy(k.begin(), k.end(), stored.k.begin() + at * p.head_dim);
    }
    ReferenceCall call = p.CallOf(stored);
    if (!head_scales.empty()) call.scales.assign(head_scales.begin(), head_scales.end());
    return ReferenceAttention(call).weights;
  }

  AttentionProblem p;
  const KernelTable& kernels;
  std::vector<KvCache> caches;
  std::vector<KvView> views;
  AttentionSchedule schedule;
  std::vector<float> lse;
};

double ToleranceOf(Compute compute) {
  return compute == Compute::kF32 ? 1e-5 : 2e-2;
}

// Rectangles of every kind: all, a row, a column, inside a tile, across tiles, nothing.
void ExpectRectangles(const Ran& ran, Compute compute, std::span<const float> head_scales = {}) {
  const Sequence& s = ran.p.sequences[0];
  const std::vector<double> exact = ran.Exact(head_scales);
  const KeyRange all_tokens = {0, s.q_len}, all_keys = {0, s.kv_len};
  const std::pair<KeyRange, KeyRange> rectangles[] = {
      {all_tokens, all_keys},
      {{s.q_len - 1, s.q_len}, all_keys},
      {all_tokens, {s.kv_len / 2, s.kv_len / 2 + 1}},
      {{s.q_len / 3, s.q_len / 2}, {5, 9}},
      {{0, s.q_len}, {60, 70}},
      {{1, 1}, all_keys},
      {all_tokens, {64, 64}},
  };
  std::vector<float> got;
  for (int64_t head = 0; head < ran.p.num_q_heads; ++head) {
    for (const auto& [tokens, keys] : rectangles) {
      SCOPED_TRACE("head " + std::to_string(head) + " tokens from " + std::to_string(tokens.begin) + " keys from " +
                   std::to_string(keys.begin));
      ASSERT_TRUE(ran.Weights({0, head, tokens, keys}, got));
      const int64_t width = keys.end - keys.begin;
      for (int64_t query = tokens.begin; query < tokens.end; ++query) {
        for (int64_t key = keys.begin; key < keys.end; ++key) {
          const double expected = exact[(query * ran.p.num_q_heads + head) * s.kv_len + key];
          const float weight = got[(query - tokens.begin) * width + key - keys.begin];
          ASSERT_NEAR(weight, expected, ToleranceOf(compute)) << query << "," << key;
          if (expected == 0) {
            ASSERT_EQ(weight, 0.0f) << query << "," << key;
          }
        }
      }
      ASSERT_EQ(got.back(), -7.0f) << "written beyond the rectangle";
    }
  }
}

class WeightsTest : public EveryTable {
 protected:
  void ExpectInEveryFormat(const AttentionProblem& p, std::span<const float> head_scales = {}) {
    for (const DType cache : {DType::kF32, DType::kBf16, DType::kF16, DType::kQ8, DType::kQ4}) {
      for (const Compute compute : {Compute::kF32, Compute::kBf16, Compute::kInt8}) {
        if (compute == Compute::kInt8 && !IsQuantisedKv(cache)) continue;
        SCOPED_TRACE(std::string(NameOf(compute)) + " over " + std::string(NameOf(cache)));
        ExpectRectangles(Ran(p, compute, cache, table(), head_scales), compute, head_scales);
        if (HasFailure()) return;
      }
    }
  }
};
ATTEND_FOR_EVERY_TABLE(WeightsTest);

AttentionProblem Problem(const Mask& mask) {
  AttentionProblem p = {.num_q_heads = 6, .num_kv_heads = 2, .head_dim = 24, .v_head_dim = 8, .mask = mask};
  p.AddRandomSequence(20, 150, 1);
  return p;
}

TEST_P(WeightsTest, RectanglesAreThoseOfTheMatrix) {
  for (const Mask& mask : {Mask::Causal(), Mask::CausalWindow(33), Mask::None()}) ExpectInEveryFormat(Problem(mask));
}

TEST_P(WeightsTest, SoftcapBiasAndSlopesAreInThem) {
  AttentionProblem p = Problem(Mask::CausalWindow(100));
  p.softcap = 3;
  p.slopes = {0.5f, 0.25f, 0.1f, 0.05f, 0.01f, 0.0f};
  p.bias = RandomRow(6 * 20 * 150, 2);
  p.bias[149] = -kInfinity;
  ExpectInEveryFormat(p);
}

TEST_P(WeightsTest, SinksAreInTheDenominatorOnly) {
  AttentionProblem p = Problem(Mask::Causal());
  p.sinks = {0.0f, 2.0f, 5.0f, -3.0f, -kInfinity, 1.0f};
  ExpectInEveryFormat(p);
}

TEST_P(WeightsTest, EveryHeadHasItsScale) {
  const std::vector<float> scales = {0.05f, 0.2f, 0.4f, 1.0f, 0.01f, 0.3f};
  ExpectInEveryFormat(Problem(Mask::Causal()), scales);
}

// More rows than a unit has, keys that were split when it ran, rows that see nothing.
TEST_P(WeightsTest, ManyRowsSplitKeysAndEmptyRows) {
  for (const auto& [q_len, kv_len] : {std::pair{250, 70}, std::pair{3, 1700}}) {
    AttentionProblem p = {.num_q_heads = 3, .num_kv_heads = 1, .head_dim = 16, .v_head_dim = 4};
    p.AddRandomSequence(q_len, kv_len, 3);
    ExpectInEveryFormat(p);
  }
}

TEST_P(WeightsTest, RowsSumToOneWhereNoSinkTakesAShare) {
  for (const Compute compute : {Compute::kF32, Compute::kBf16, Compute::kInt8}) {
    const Ran ran(Problem(Mask::CausalWindow(90)), compute, DType::kQ8, table());
    std::vector<float> row;
    for (int64_t token = 0; token < 20; ++token) {
      ASSERT_TRUE(ran.Weights({0, token % 6, {token, token + 1}, {0, 150}}, row));
      double sum = 0;
      for (int64_t key = 0; key < 150; ++key) sum += row[key];
      // In the other classes lse is that of rounded weights.
      EXPECT_NEAR(sum, 1.0, compute == Compute::kF32 ? 1e-5 : 4e-3) << token;
    }
  }
}

// ln 3 on one key is three times its weight beside the others: added, and not read as "hidden" or "visible".
TEST_P(WeightsTest, BiasMultipliesAWeight) {
  for (const DType cache : {DType::kF32, DType::kBf16, DType::kQ8, DType::kQ4}) {
    const auto ratio_with = [&](float bias) {
      AttentionProblem p = Problem(Mask::None());
      p.bias.assign(6 * 20 * 150, 0.0f);
      p.bias[70] = bias;
      std::vector<float> row;
      EXPECT_TRUE(Ran(p, Compute::kBf16, cache, table()).Weights({0, 0, {0, 1}, {0, 150}}, row));
      return row[70] / row[5];
    };
    const float plain = ratio_with(0);
    for (const float times : {3.0f, 0.25f, 100.0f}) {
      EXPECT_NEAR(ratio_with(std::log(times)), times * plain, 1e-4 * times * plain) << NameOf(cache) << " " << times;
    }
  }
}

TEST(WeightsRefusalTest, RectanglesOutsideTheSequenceAreRefusedByName) {
  const Ran ran(Problem(Mask::Causal()), Compute::kF32, DType::kF32, kScalarKernels);
  const std::pair<const char*, WeightsRectangle> refusals[] = {
      {"sequence", {1, 0, {0, 1}, {0, 1}}}, {"sequence", {-1, 0, {0, 1}, {0, 1}}}, {"q_head", {0, 6, {0, 1}, {0, 1}}},
      {"q_head", {0, -1, {0, 1}, {0, 1}}},  {"tokens", {0, 0, {0, 21}, {0, 1}}},   {"tokens", {0, 0, {-1, 1}, {0, 1}}},
      {"tokens", {0, 0, {5, 4}, {0, 1}}},   {"keys", {0, 0, {0, 1}, {0, 151}}},    {"keys", {0, 0, {0, 1}, {-1, 10}}},
      {"keys", {0, 0, {0, 1}, {9, 8}}},
  };
  for (const auto& [subject, rectangle] : refusals) {
    std::vector<float> weights;
    const auto result = ran.Weights(rectangle, weights);
    ASSERT_FALSE(result) << subject;
    EXPECT_EQ(result.error().code, ErrorCode::kAttentionBadShape);
    EXPECT_EQ(result.error().where, "attention weights");
    EXPECT_EQ(result.error().subject, subject);
    for (float x : weights) EXPECT_EQ(x, -7.0f) << "written in spite of the refusal: " << subject;
  }
}

}  // namespace
}  // namespace attend
