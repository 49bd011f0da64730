// Operations built from the primitive ones of a vector type V.
#pragma once

#include <stdint.h>

namespace attend {
namespace {

inline int64_t MinOf(int64_t a, int64_t b) {
  return a < b ? a : b;
}
inline int64_t MaxOf(int64_t a, int64_t b) {
  return a > b ? a : b;
}

// exp(x): x = n ln 2 + r with |r| <= ln 2 / 2, a polynomial of degree 7 in r (the coefficients of Cephes' expf), times
// 2^n. At most 2 ulp; exactly 0 below -87.3, where float results would turn subnormal; x above 88.3 counts as 88.3. NaN
// stays.
template <class V>
inline __attribute__((always_inline)) typename V::F Exp(typename V::F x) {
  const typename V::F clamped = V::Min(V::Set1(88.3f), x);  // this operand order keeps NaN on x86
  const typename V::F n = V::Round(V::Mul(V::Max(V::Set1(-87.5f), clamped), V::Set1(1.44269504088896341f)));
  typename V::F r = V::Fma(n, V::Set1(-0.693359375f), clamped);
  r = V::Fma(n, V::Set1(2.12194440e-4f), r);
  typename V::F p = V::Set1(1.9875691500e-4f);
  p = V::Fma(p, r, V::Set1(1.3981999507e-3f));
  p = V::Fma(p, r, V::Set1(8.3334519073e-3f));
  p = V::Fma(p, r, V::Set1(4.1665795894e-2f));
  p = V::Fma(p, r, V::Set1(1.6666665459e-1f));
  p = V::Fma(p, r, V::Set1(5.0000001201e-1f));
  p = V::Fma(V::Mul(r, r), p, V::Add(r, V::Set1(1.0f)));
  return V::ZeroBelow(V::ScaleByPowerOfTwo(p, n), x, -87.3f);
}

// 2^y for y <= 0: y = n + r with |r| <= 1/2, a minimax polynomial in r, times 2^n. Degree 6 has a relative error of
// 2e-9, at most 1 ulp with FMA; kShort, degree 5, has 9e-8, for what is rounded to bf16 next. Exactly 0 below -125.95 =
// -87.3 / ln 2. NaN stays.
template <class V, bool kShort = false>
inline __attribute__((always_inline)) typename V::F Exp2OfNegative(typename V::F y) {
  const typename V::F n = V::Round(y);
  const typename V::F r = V::Sub(y, n);
  typename V::F p;
  if constexpr (kShort) {
    p = V::Set1(1.3264727e-3f);
    p = V::Fma(p, r, V::Set1(9.6715126e-3f));
    p = V::Fma(p, r, V::Set1(5.5507337e-2f));
    p = V::Fma(p, r, V::Set1(2.40222421e-1f));
    p = V::Fma(p, r, V::Set1(6.93146978e-1f));
  } else {
    p = V::Set1(1.5353361959569156e-4f);
    p = V::Fma(p, r, V::Set1(1.3398875016719103e-3f));
    p = V::Fma(p, r, V::Set1(9.61843691766262e-3f));
    p = V::Fma(p, r, V::Set1(5.5503323674201965e-2f));
    p = V::Fma(p, r, V::Set1(2.4022647738456726e-1f));
    p = V::Fma(p, r, V::Set1(6.931471824645996e-1f));
  }
  p = V::Fma(p, r, V::Set1(1.0f));
  return V::ZeroBelow(V::ScaleByPowerOfTwo(p, n), y, -125.95f);
}

// A weight in [0, 1] to the 8 significant bits of bf16, to the nearest (ties either way), in float arithmetic alone
// (Veltkamp's splitting). NaN stays.
template <class V>
inline __attribute__((always_inline)) typename V::F RoundWeight(typename V::F p) {
  const typename V::F high = V::Mul(p, V::Set1(65537.0f));
  return V::Sub(high, V::Sub(high, p));
}

template <class V>
inline float Exp2OfNegativeOne(float y) {
  float lanes[V::kLanes];
  V::Store(lanes, Exp2OfNegative<V>(V::Set1(y)));
  return lanes[0];
}

// The sums of 64 columns by 16: out[4].
template <class V>
inline __attribute__((always_inline)) void SumsOf16(const typename V::F* p, float* out) {
  if constexpr (V::kLanes == 16) {
    V::ReduceAdd4(p[0], p[1], p[2], p[3], out);
  } else {
    constexpr int kVectors = 16 / V::kLanes;
    for (int i = 0; i < 4; ++i) {
      typename V::F sum = p[i * kVectors];
      for (int n = 1; n < kVectors; ++n) sum = V::Add(sum, p[i * kVectors + n]);
      out[i] = V::ReduceAdd(sum);
    }
  }
}

inline constexpr float kLog2E = 1.44269504088896341f;

inline constexpr float kMinusInfinity = -__builtin_inff();

}  // namespace
}  // namespace attend
