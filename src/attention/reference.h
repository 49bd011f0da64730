// Attention as its formula, in double precision with the whole score matrix: what every tolerance is measured against.
//   out[i, h] = sum_j p_ij v[j, h / group],  p_i = softmax over visible j of scale * q[i, h] . k[j, h / group]
//   lse[i, h] = ln sum_j exp(...);  a row that sees nothing: out 0, lse -inf (with a sink: lse = sink)
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

// Everything that enters the formula, as functions and plain rows.
struct ReferenceCall {
  ReferenceShape shape;
  std::span<const float> q, k, v;  // [q_len, Hq, D], [kv_len, Hkv, D], [kv_len, Hkv, Dv]
  std::vector<double> scales;      // [Hq]
  VisibleFn visible;
  // The score of (head, query, key) from scale * q . k; null: as it is.
  std::function<double(int64_t head, int64_t query, int64_t key, double scaled)> term = nullptr;
  std::vector<float> sinks = {};  // [Hq]: logit of a key without value; empty: none
};

struct ReferenceResult {
  std::vector<double> out;      // [q_len, Hq, Dv]
  std::vector<double> lse;      // [q_len, Hq]
  std::vector<double> weights;  // [q_len, Hq, kv_len]
};

ReferenceResult ReferenceAttention(const ReferenceCall& call);

// Numerics class of the naive loop: where it rounds.
enum class NaiveClass { kF32, kBf16, kInt8 };

// The loop that anyone would write in float32, rounding at the places of a class: bf16 rounds q, weights and output,
// int8 q and the weights of every 64 keys to 8 bits with one scale. The engine's error may be at most twice this one's.
std::vector<float> NaiveAttention(const ReferenceCall& call, NaiveClass numerics);

}  // namespace attend
