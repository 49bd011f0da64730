// The online softmax (Milakov & Gimelshein 2018) of one row over one tile: scores become weights relative to the row's
// running maximum; what the row holds is rescaled when that grew.
#pragma once

#include "kernels/isa/observe_body.h"

namespace attend {
namespace {

// Weights in base 2: 2^((score - maximum) * factor), with both kept unscaled. The difference is exact where it matters,
// near the maximum, so that a constant added to all scores changes nothing and scores of any size survive. What is
// summed is what meets V: equal values then give exactly that value.
// The observed tile is always treated as 64 columns: those behind `columns` hold minus infinity by then.
template <class V, bool kRound, bool kPack, int kObserve>
inline __attribute__((always_inline)) TileRowSums<V> WeightsOfColumns(float* x, int64_t columns, float factor,
                                                                      float maximum, float* sums_of_16) {
  const typename V::F scale = V::Set1(factor), shift = V::Set1(maximum);
  TileRowSums<V> sums = {V::Zero(), V::Zero(), V::Zero()};
  typename V::F weights[(kObserve & kCells) != 0 ? kPanelColumns / V::kLanes : 1];
#pragma GCC unroll 4
  for (int64_t c = 0; c < columns; c += V::kLanes) {
    const typename V::F y = V::Mul(V::Sub(V::Load(x + c), shift), scale);
    typename V::F p = Exp2OfNegative<V, kRound>(y);
    if constexpr (kRound) p = RoundWeight<V>(p);
    sums.weights = V::Add(sums.weights, p);
    if constexpr ((kObserve & kRows) != 0) {
      sums.exponents = V::Fma(p, V::Max(y, V::Set1(-200.0f)), sums.exponents);  // 0 times -inf must not be NaN
      sums.columns = V::Fma(p, V::Load(kColumnNumbers + c), sums.columns);
    }
    if constexpr ((kObserve & kCells) != 0) weights[c / V::kLanes] = p;
    if constexpr (kPack) {
      V::StoreBf16Number(reinterpret_cast<uint16_t*>(x) + c, p);  // behind the scores still to be read
    } else {
      V::Store(x + c, p);
    }
  }
  if constexpr ((kObserve & kCells) != 0) SumsOf16<V>(weights, sums_of_16);
  return sums;
}

// Whole tiles, nearly all, in a loop of known length: its steps then overlap.
template <class V, bool kRound, bool kPack, int kObserve>
TileRowSums<V> TileWeights(float* x, int64_t columns, float factor, float maximum, float* sums_of_16) {
  return kObserve != kNothing || columns == kPanelColumns
             ? WeightsOfColumns<V, kRound, kPack, kObserve>(x, kPanelColumns, factor, maximum, sums_of_16)
             : WeightsOfColumns<V, kRound, kPack, kObserve>(x, columns, factor, maximum, sums_of_16);
}

template <class V, int kObserve>
TileRowSums<V> TileWeights(const AttendArgs& u, float* x, int64_t columns, float factor, float maximum,
                           float* sums_of_16) {
  if constexpr (V::kHasBf16Dot) {
    if (PacksWeights<V>(u)) return TileWeights<V, true, true, kObserve>(x, columns, factor, maximum, sums_of_16);
  }
  if (RoundsWeights(u) && !HasIntValues(u)) {
    return TileWeights<V, true, false, kObserve>(x, columns, factor, maximum, sums_of_16);
  }
  return TileWeights<V, false, false, kObserve>(x, columns, factor, maximum, sums_of_16);
}

// The row's maximum grew by -step in units of log 2: what it holds so far shrinks.
template <class V, int kObserve>
void Rescale(const AttendArgs& u, const UnitScratch& s, int64_t row, float step) {
  const float shrink = Exp2OfNegativeOne<V>(step);  // 0 for the first tile: 2^-inf
  const typename V::F by = V::Set1(shrink);
  float* sum = s.sum + row * kSumLanes;
  if constexpr ((kObserve & kRows) != 0) RescaleObserved<V>(s, row, step, shrink);
  for (int64_t i = 0; i < kSumLanes; i += V::kLanes) V::Store(sum + i, V::Mul(V::Load(sum + i), by));
  float* out = u.out + row * u.kv.v_width;
  for (int64_t c = 0; c < u.kv.v_width; c += V::kLanes) V::Store(out + c, V::Mul(V::Load(out + c), by));
}

// A row whose scores in this tile are all minus infinity, and that saw nothing before. A NaN score hides from the
// maximum; it must still reach its row.
template <class V>
void EmptyRow(const UnitScratch& s, const Tile& t, int64_t row, float* x) {
  bool any_nan = false;
  for (int64_t c = 0; c < t.columns; ++c) any_nan |= x[c] != x[c];
  for (int64_t c = 0; c < t.columns; c += V::kLanes) V::Store(x + c, V::Zero());
  if (any_nan) s.sum[row * kSumLanes] = __builtin_nanf("");
}

template <class V>
float LargestOf(const float* x, int64_t columns) {
  typename V::F largest = V::Set1(kMinusInfinity);
  if (columns == kPanelColumns) {
#pragma GCC unroll 16
    for (int64_t c = 0; c < kPanelColumns; c += V::kLanes) largest = V::Max(largest, V::Load(x + c));
  } else {
    for (int64_t c = 0; c < columns; c += V::kLanes) largest = V::Max(largest, V::Load(x + c));
  }
  return V::ReduceMax(largest);
}

template <class V, int kObserve>
void SoftmaxRow(const AttendArgs& u, const UnitScratch& s, const Tile& t, int64_t row) {
  float* x = s.scores + row * kPanelColumns;
  if constexpr (kObserve != kNothing) {
    for (int64_t c = t.columns; c < kPanelColumns; ++c) x[c] = kMinusInfinity;
  }
  const float old_maximum = s.maximum[row], tile_maximum = LargestOf<V>(x, t.columns);
  const bool grew = tile_maximum > old_maximum;
  const float maximum = grew ? tile_maximum : old_maximum;
  if (maximum == kMinusInfinity) return EmptyRow<V>(s, t, row, x);
  const float factor = ScaleLeft(u, row) * kLog2E;
  if (grew) {
    s.maximum[row] = maximum;
    if constexpr ((kObserve & kRows) != 0) s.largest_key[row] = t.index * kPanelColumns + FirstEqual(x, maximum);
    Rescale<V, kObserve>(u, s, row, (old_maximum - maximum) * factor);
  }
  float sums_of_16[4];
  const TileRowSums<V> sums = TileWeights<V, kObserve>(u, x, t.columns, factor, maximum, sums_of_16);
  float* sum = s.sum + row * kSumLanes;
  V::Store(sum, V::Add(V::Load(sum), sums.weights));
  if constexpr ((kObserve & kCells) != 0) {
    StoreCells(u.observe, row, TileSlot(u, t.index), sums_of_16, s.maximum[row]);
  }
  if constexpr ((kObserve & kRows) != 0) ObserveTile<V>(u, s, t, row, sums);
}

}  // namespace
}  // namespace attend
