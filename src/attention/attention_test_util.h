// Attention problems over the real cache: queries, keys and values of one or more sequences, and a run of the engine.
#pragma once

#include <cstring>
#include <vector>

#include "attention/reference.h"
#include "attention/run.h"
#include "attention/weights.h"
#include "base/half.h"
#include "cache/kv_cache.h"
#include "kernels/kernels_test_util.h"

namespace attend {

// One sequence: q [q_len, Hq, D], k [capacity, Hkv, D], v [capacity, Hkv, Dv]; capacity >= kv_len.
struct Sequence {
  int64_t q_len = 0, kv_len = 0;
  std::vector<float> q = {}, k = {}, v = {};
};

struct AttentionProblem {
  int64_t num_q_heads = 1, num_kv_heads = 1, head_dim = 1, v_head_dim = 1;
  Mask mask = Mask::Causal();
  float scale = 0;
  float softcap = 0;
  std::vector<float> slopes = {}, sinks = {};  // [Hq]
  std::vector<float> bias = {};                // [Hq, q_len, kv_len] of the one sequence
  std::vector<Sequence> sequences = {};

  ReferenceShape ShapeOf(const Sequence& s) const {
    return {num_q_heads, num_kv_heads, head_dim, v_head_dim, s.q_len, s.kv_len};
  }
  double ScaleUsed() const {
    return scale != 0 ? double{scale} : double{1.0f / std::sqrt(static_cast<float>(head_dim))};
  }
  VisibleFn VisibleOf(const Sequence& s) const {
    if (mask.kind == MaskKind::kNone) return AllVisible();
    return CausalVisible(s.q_len, s.kv_len, mask.window_left + 1);
  }
  ReferenceCall CallOf(const Sequence& s) const {
    ReferenceCall call = {ShapeOf(s), s.q, s.k, s.v, std::vector<double>(num_q_heads, ScaleUsed()), VisibleOf(s)};
    call.sinks = sinks;
    call.term = [this, &s](int64_t head, int64_t query, int64_t key, double x) {
      if (softcap > 0) x = softcap * std::tanh(x / softcap);
      if (!bias.empty()) x += bias[(head * s.q_len + query) * s.kv_len + key];
      if (!slopes.empty()) x -= slopes[head] * std::abs(static_cast<double>(query + s.kv_len - s.q_len - key));
      return x;
    };
    return call;
  }
  ReferenceResult Reference(size_t i = 0) const { return ReferenceAttention(CallOf(sequences[i])); }
  // K and V as a bf16 cache holds them.
  std::vector<float> NaiveBf16(size_t i = 0) const {
    Sequence s = sequences[i];
    for (std::vector<float>* x : {&s.k, &s.v}) {
      for (float& value : *x) value = RoundToBf16(value);
    }
    return NaiveAttention(CallOf(s), NaiveClass::kBf16);
  }
  AttentionOptions OptionsOf(Compute compute) const {
    AttentionOptions o;
    o.mask = mask;
    o.softmax_scale = scale;
    o.softcap = softcap;
    o.alibi_slopes = slopes;
    o.sinks = sinks;
    o.compute = compute;
    if (!bias.empty()) {
      const Sequence& s = sequences[0];
      o.bias = {.data = bias.data(),
                .head_stride = s.q_len * s.kv_len,
                .query_stride = s.kv_len,
                .size = static_cast<int64_t>(bias.size())};
    }
    return o;
  }
  int64_t ExpectedRows() const {
    int64_t rows = 0;
    for (const Sequence& s : sequences) rows += s.q_len * num_q_heads;
    return rows;
  }
  void AddRandomSequence(int64_t q_len, int64_t kv_len, uint32_t seed, float deviation = 1.0f) {
    sequences.push_back({q_len, kv_len, RandomRow(q_len * num_q_heads * head_dim, seed, deviation),
                         RandomRow(kv_len * num_kv_heads * head_dim, seed + 1000, deviation),
                         RandomRow(kv_len * num_kv_heads * v_head_dim, seed + 2000, 1.0f)});
  }
  AttentionProblem Alone(size_t i) const {
    AttentionProblem alone = *this;
    alone.sequences = {sequences[i]};
    return alone;
  }
};

struct RunOptions {
  Compute compute = Compute::kF32;
  DType cache = DType::kF32;
  int threads = 1;
};
inline constexpr RunOptions kExact = {};
inline constexpr RunOptions kBf16Class = {Compute::kBf16, DType::kBf16, 1};

struct RunResult {
  std::vector<std::vector<float>> out;  // a sequence: [q_len, Hq, Dv]
  std::vector<std::vector<float>> lse;  // a sequence: [q_len, Hq]
  AttentionCounters counters;
};

inline KvCache MakeCache(const AttentionProblem& p, const Sequence& s, DType dtype) {
  CacheDescriptor layer{.num_kv_heads = static_cast<uint32_t>(p.num_kv_heads),
                        .k_head_dim = static_cast<uint32_t>(p.head_dim),
                        .v_head_dim = static_cast<uint32_t>(p.v_head_dim),
                        .format = KvFormat::Both(dtype)};
  KvCache cache = *KvCache::Make({layer});
  const int64_t k_stride = p.num_kv_heads * p.head_dim, v_stride = p.num_kv_heads * p.v_head_dim;
  const int64_t tokens = static_cast<int64_t>(s.k.size()) / k_stride;
  EXPECT_TRUE(cache.Extend(tokens));
  cache.Write(0, 0, tokens, s.k.data(), k_stride, s.v.data(), v_stride);
  return cache;
}

// Runs over caches that exist; queries and output have a stride beyond their width.
inline RunResult RunOver(const AttentionProblem& p, std::span<const KvCache> caches, const KernelTable& table,
                         const RunOptions& options) {
  std::vector<int64_t> q_lens, kv_lens;
  std::vector<KvView> views;
  for (const KvCache& cache : caches) views.push_back(cache.View(0));
  const int64_t q_width = p.num_q_heads * p.head_dim, out_width = p.num_q_heads * p.v_head_dim;
  const int64_t q_stride = q_width + 3, out_stride = out_width + 5;
  std::vector<float> q;
  for (const Sequence& s : p.sequences) {
    q_lens.push_back(s.q_len);
    kv_lens.push_back(s.kv_len);
    for (int64_t i = 0; i < s.q_len; ++i) {
      q.insert(q.end(), s.q.begin() + i * q_width, s.q.begin() + (i + 1) * q_width);
      q.insert(q.end(), 3, kNan);
    }
  }
  const auto schedule = ScheduleAttention({p.num_q_heads, p.num_kv_heads, p.head_dim, p.v_head_dim, q_lens, kv_lens},
                                          p.OptionsOf(options.compute));
  EXPECT_TRUE(schedule) << (schedule ? "" : Describe(schedule.error()));
  const int64_t tokens = static_cast<int64_t>(q.size()) / q_stride;
  std::vector<float> out(static_cast<size_t>(tokens * out_stride), -7.0f),
      lse(static_cast<size_t>(tokens * p.num_q_heads), -7.0f);
  ThreadPool pool(options.threads);
  AttentionWorkspace workspace;
  const auto counters = RunAttention(*schedule, {q.data(), q_stride}, views, {out.data(), out_stride, lse.data()},
                                     table, pool, workspace);
  EXPECT_TRUE(counters) << (counters ? "" : Describe(counters.error()));
  RunResult result;
  result.counters = *counters;
  int64_t token = 0;
  for (const Sequence& s : p.sequences) {
    std::vector<float>& rows = result.out.emplace_back();
    result.lse.emplace_back(lse.begin() + token * p.num_q_heads, lse.begin() + (token + s.q_len) * p.num_q_heads);
    for (int64_t i = 0; i < s.q_len; ++i, ++token) {
      const float* row = out.data() + token * out_stride;
      rows.insert(rows.end(), row, row + out_width);
      for (int64_t c = out_width; c < out_stride; ++c) EXPECT_EQ(row[c], -7.0f) << "written beyond the row";
    }
  }
  return result;
}

inline RunResult RunProblem(const AttentionProblem& p, const KernelTable& table, const RunOptions& options) {
  std::vector<KvCache> caches;
  for (const Sequence& s : p.sequences) caches.push_back(MakeCache(p, s, options.cache));
  return RunOver(p, caches, table, options);
}

// The whole attention matrix [q_len, Hq, kv_len] of a problem of one sequence, head by head.
inline std::vector<float> WeightsOf(const AttentionProblem& p, const KernelTable& table, const RunOptions& options,
                                    const std::vector<float>& lse) {
  const Sequence& s = p.sequences[0];
  const KvCache cache = MakeCache(p, s, options.cache);
  const KvView views[] = {cache.View(0)};
  const std::vector<int64_t> q_lens = {s.q_len}, kv_lens = {s.kv_len};
  const auto schedule = ScheduleAttention({p.num_q_heads, p.num_kv_heads, p.head_dim, p.v_head_dim, q_lens, kv_lens},
                                          p.OptionsOf(options.compute));
  EXPECT_TRUE(schedule);
  std::vector<float> all(static_cast<size_t>(s.q_len * p.num_q_heads * s.kv_len));
  std::vector<float> head_weights(static_cast<size_t>(s.q_len * s.kv_len));
  for (int64_t head = 0; head < p.num_q_heads; ++head) {
    EXPECT_TRUE(AttentionWeights(*schedule, {s.q.data(), p.num_q_heads * p.head_dim}, views, lse.data(),
                                 {0, head, {0, s.q_len}, {0, s.kv_len}}, table, head_weights.data()));
    for (int64_t i = 0; i < s.q_len; ++i) {
      std::copy_n(head_weights.begin() + i * s.kv_len, s.kv_len, all.begin() + (i * p.num_q_heads + head) * s.kv_len);
    }
  }
  return all;
}

// The largest |a - b|; equal infinities count as 0, NaN as infinity.
template <class A, class B>
double LargestDifference(const std::vector<A>& a, const std::vector<B>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double x = a[i], y = b[i];
    const double difference = x == y ? 0 : std::abs(x - y);
    largest = std::max(largest, std::isnan(difference) ? double{kInfinity} : difference);
  }
  return largest;
}

inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace attend
