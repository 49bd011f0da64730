// One attention work unit: rows of one kv head against a range of keys, tile by tile with a running maximum (tiled as
// in FlashAttention). Written once for every vector type V.
#pragma once

#include "kernels/isa/softmax_body.h"

namespace attend {
namespace {

// The tile as the mask lets the unit's rows see it; rows 0: nothing to do.
inline Tile VisibleTile(const AttendArgs& u, const UnitScratch& s, int64_t index) {
  const TileRows seen = u.mask(u.mask_context, index, s.visible);
  Tile t = {index, seen.first, seen.last - seen.first, kPanelColumns, kPanelColumns, seen.mixed, 0};
  const bool has_next = u.kv.blocks != nullptr && (index + 1) * kPanelColumns < u.key_end;
  if (has_next) t.ahead = u.kv.blocks[index + 1] - u.kv.blocks[index];
  if (!seen.mixed || t.rows <= 0) return t;
  uint64_t any = 0;
  for (int64_t r = seen.first; r < seen.last; ++r) any |= s.visible[r];
  if (any == 0) {
    t.rows = 0;
    return t;
  }
  t.keys = kPanelColumns - __builtin_clzll(any);
  t.columns = (t.keys + 15) / 16 * 16;
  return t;
}

template <class V, int kObserve>
void AttendTiles(const AttendArgs& u, const UnitScratch& s) {
  for (int64_t tile = u.key_begin / kPanelColumns; tile * kPanelColumns < u.key_end; ++tile) {
    const Tile t = VisibleTile(u, s, tile);
    if (t.rows <= 0) continue;
    MaskedScores<V>(u, s, t);
    for (int64_t r = t.row; r < t.row + t.rows; ++r) SoftmaxRow<V, kObserve>(u, s, t, r);
    TileOutput<V>(u, s, t);
  }
}

template <class V>
void Attend(const AttendArgs& u) {
  const UnitScratch s = Carve(u);
  const int64_t width = u.kv.v_width;
  const bool observed = u.observe.rows != nullptr;
  for (int64_t r = 0; r < u.rows; ++r) {
    s.maximum[r] = kMinusInfinity;
    for (int64_t i = 0; i < kSumLanes; ++i) s.sum[r * kSumLanes + i] = 0.0f;
  }
  for (int64_t i = 0; i < u.rows * width; i += V::kLanes) V::Store(u.out + i, V::Zero());
  PrepareQueries<V>(u, s);
  if (observed) BeginObserving<V>(u, s);
  if (!observed) {
    AttendTiles<V, kNothing>(u, s);
  } else if (u.observe.cells == nullptr) {
    AttendTiles<V, kRows>(u, s);
  } else if (!u.observe.wants_rows) {
    AttendTiles<V, kCells>(u, s);
  } else {
    AttendTiles<V, kRows | kCells>(u, s);
  }
  for (int64_t r = 0; r < u.rows; ++r) {
    const float sum = V::ReduceAdd(V::Load(s.sum + r * kSumLanes));
    float* out = u.out + r * width;
    // A division, not a reciprocal: equal values come out as exactly that value. A row that saw nothing holds 0
    // already.
    const typename V::F divisor = V::Set1(sum == 0.0f ? 1.0f : sum);
    for (int64_t c = 0; c < width; c += V::kLanes) V::Store(out + c, V::Div(V::Load(out + c), divisor));
    const double maximum = double{s.maximum[r]} * ScaleLeft(u, r);
    u.lse[r] = sum == 0.0f ? kMinusInfinity : static_cast<float>(maximum + __builtin_log(sum));
    if (observed) FinishObserving<V>(u, s, r, sum);
  }
}

// A rectangle of weights from lse: the scores exactly as Attend computes them.
template <class V>
void AttentionWeights(const AttentionWeightsArgs& a) {
  const AttendArgs& u = a.unit;
  const UnitScratch s = Carve(u);
  PrepareQueries<V>(u, s);
  for (int64_t r = 0; r < u.rows; ++r) {
    for (int64_t i = 0; i < u.key_end - u.key_begin; ++i) a.weights[r * a.weights_stride + i] = 0.0f;
  }
  for (int64_t tile = u.key_begin / kPanelColumns; tile * kPanelColumns < u.key_end; ++tile) {
    const Tile t = VisibleTile(u, s, tile);
    if (t.rows <= 0) continue;
    MaskedScores<V>(u, s, t);
    const int64_t first_key = tile * kPanelColumns;
    const int64_t low = MaxOf(u.key_begin, first_key), high = MinOf(u.key_end, first_key + t.keys);
    for (int64_t r = t.row; r < t.row + t.rows; ++r) {
      float* x = s.scores + r * kPanelColumns;
      if (a.lse[r] == kMinusInfinity) continue;
      for (int64_t c = 0; c < t.columns; c += V::kLanes) {
        const typename V::F score = V::Mul(V::Load(x + c), V::Set1(ScaleLeft(u, r)));
        V::Store(x + c, Exp<V>(V::Sub(score, V::Set1(a.lse[r]))));
      }
      for (int64_t key = low; key < high; ++key) {
        a.weights[r * a.weights_stride + key - u.key_begin] = x[key - first_key];
      }
    }
  }
}

}  // namespace
}  // namespace attend
