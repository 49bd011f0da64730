// Norm, rotary embedding, gate, rounding and exp over plain rows, for every vector type V. Tails shorter than a vector
// go through a padded copy, so that no byte beyond the row is read.
#pragma once

#include "kernels/isa/vec_ops.h"

namespace attend {
namespace {

template <class V, class Fn>
void ForEachVector(int64_t n, Fn&& fn) {
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) fn(i, V::kLanes);
  if (i < n) fn(i, static_cast<int>(n - i));
}

template <class V>
typename V::F LoadSome(const float* p, int count, float fill = 0.0f) {
  if (count == V::kLanes) return V::Load(p);
  float lanes[V::kLanes];
  for (int i = 0; i < V::kLanes; ++i) lanes[i] = i < count ? p[i] : fill;
  return V::Load(lanes);
}

template <class V>
void StoreSome(float* p, typename V::F v, int count) {
  if (count == V::kLanes) return V::Store(p, v);
  float lanes[V::kLanes];
  V::Store(lanes, v);
  for (int i = 0; i < count; ++i) p[i] = lanes[i];
}

template <class V>
void RmsNorm(const float* x, const float* weight, float epsilon, int64_t n, float* out) {
  typename V::F squares = V::Zero();
  ForEachVector<V>(n, [&](int64_t i, int count) {
    const typename V::F v = LoadSome<V>(x + i, count);
    squares = V::Fma(v, v, squares);
  });
  const float mean = V::ReduceAdd(squares) / static_cast<float>(n);
  const typename V::F inverse = V::Set1(1.0f / __builtin_sqrtf(mean + epsilon));
  ForEachVector<V>(n, [&](int64_t i, int count) {
    StoreSome<V>(out + i, V::Mul(V::Mul(LoadSome<V>(x + i, count), inverse), LoadSome<V>(weight + i, count)), count);
  });
}

template <class V>
void Rope(float* x, const float* cosine, const float* sine, int64_t half) {
  ForEachVector<V>(half, [&](int64_t i, int count) {
    const typename V::F a = LoadSome<V>(x + i, count), b = LoadSome<V>(x + half + i, count);
    const typename V::F c = LoadSome<V>(cosine + i, count), s = LoadSome<V>(sine + i, count);
    StoreSome<V>(x + i, V::Sub(V::Mul(a, c), V::Mul(b, s)), count);
    StoreSome<V>(x + half + i, V::Add(V::Mul(b, c), V::Mul(a, s)), count);
  });
}

template <class V>
void SwiGlu(const float* gate, const float* up, int64_t n, float* out) {
  ForEachVector<V>(n, [&](int64_t i, int count) {
    const typename V::F g = LoadSome<V>(gate + i, count);
    const typename V::F denominator = V::Add(V::Set1(1.0f), Exp<V>(V::Sub(V::Zero(), g)));
    StoreSome<V>(out + i, V::Mul(V::Div(g, denominator), LoadSome<V>(up + i, count)), count);
  });
}

template <class V>
void RoundToBf16(float* x, int64_t n) {
  ForEachVector<V>(n,
                   [&](int64_t i, int count) { StoreSome<V>(x + i, V::RoundBf16(LoadSome<V>(x + i, count)), count); });
}

template <class V>
void PackBf16(const float* x, int64_t n, uint16_t* out) {
  ForEachVector<V>(n, [&](int64_t i, int count) {
    uint16_t lanes[V::kLanes];
    V::StoreBf16(lanes, LoadSome<V>(x + i, count));
    for (int j = 0; j < count; ++j) out[i + j] = lanes[j];
  });
}

template <class V>
void UnpackF16(const uint16_t* x, int64_t n, float* out) {
  ForEachVector<V>(n, [&](int64_t i, int count) {
    uint16_t lanes[V::kLanes] = {};
    for (int j = 0; j < count; ++j) lanes[j] = x[i + j];
    float values[V::kLanes];
    V::Store(values, V::LoadF16(lanes));
    for (int j = 0; j < count; ++j) out[i + j] = values[j];
  });
}

template <class V>
float LogSumExp(const float* x, int64_t n) {
  typename V::F largest = V::Set1(kMinusInfinity);
  ForEachVector<V>(n,
                   [&](int64_t i, int count) { largest = V::Max(largest, LoadSome<V>(x + i, count, kMinusInfinity)); });
  const float maximum = V::ReduceMax(largest);
  if (maximum == kMinusInfinity) {  // all of them, or a NaN hides from the maximum
    for (int64_t i = 0; i < n; ++i) {
      if (x[i] != x[i]) return x[i];
    }
    return kMinusInfinity;
  }
  typename V::F sum = V::Zero();
  ForEachVector<V>(n, [&](int64_t i, int count) {
    sum = V::Add(sum, Exp<V>(V::Sub(LoadSome<V>(x + i, count, kMinusInfinity), V::Set1(maximum))));
  });
  return maximum + __builtin_logf(V::ReduceAdd(sum));
}

template <class V>
void ExpRow(const float* x, int64_t n, float* out) {
  ForEachVector<V>(n, [&](int64_t i, int count) { StoreSome<V>(out + i, Exp<V>(LoadSome<V>(x + i, count)), count); });
}

}  // namespace
}  // namespace attend
