// Attention as its formula, in double precision with the whole score matrix: what every tolerance is measured against.
//   out[i, h] = sum_j p_ij v[j, h / group],  p_i = softmax over visible j of scale * q[i, h] . k[j, h / group]
//   lse[i, h] = ln sum_j exp(...);  a row that sees nothing: out 0, lse -inf
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace attend {

struct ReferenceShape {
  int64_t num_q_heads = 1;
  int64_t num_kv_heads = 1;
  int64_t head_dim = 1;
  int64_t v_head_dim = 1;
  int64_t q_len = 0;
  int64_t kv_len = 0;
};

// Whether query i sees key j.
using VisibleFn = std::function<bool(int64_t query, int64_t key)>;

// window: keys visible to a query, itself included; 0: all before it.
VisibleFn CausalVisible(int64_t q_len, int64_t kv_len, int64_t window = 0);
VisibleFn AllVisible();

struct ReferenceResult {
  std::vector<double> out;      // [q_len, Hq, Dv]
  std::vector<double> lse;      // [q_len, Hq]
  std::vector<double> weights;  // [q_len, Hq, kv_len]
};

// q [q_len, Hq, D], k [kv_len, Hkv, D], v [kv_len, Hkv, Dv].
ReferenceResult ReferenceAttention(const ReferenceShape& shape, std::span<const float> q, std::span<const float> k,
                                   std::span<const float> v, double scale, const VisibleFn& visible);

// The naive loop of class bf16: q, k, v, weights and output rounded to bf16, sums in float. The engine's error may be
// at most twice this one's.
std::vector<float> NaiveBf16Attention(const ReferenceShape& shape, std::span<const float> q, std::span<const float> k,
                                      std::span<const float> v, float scale, const VisibleFn& visible);

}  // namespace attend
