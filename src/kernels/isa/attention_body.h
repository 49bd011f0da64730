// One attention work unit: rows of one kv head against a range of keys, tile by tile with a running maximum (the online
// softmax of Milakov & Gimelshein 2018, tiled as in FlashAttention). Written once for every vector type V.
#pragma once

#include "kernels/isa/weights_body.h"

namespace attend {
namespace {

// Rows up to this many read bf16 tiles directly; more rows share one unpacked copy of the tile.
inline constexpr int64_t kSharedTileRows = 12;

// Room for the partial sums of a row in the lanes of any vector type.
inline constexpr int64_t kSumLanes = 16;

struct UnitScratch {
  float* scores;     // [rows][64], then weights in place
  uint16_t* q_bf16;  // [rows][k_dim]
  float* maximum;    // [rows]
  float* sum;        // [rows][kSumLanes], added up once at the end
  float* tile;       // [64 * max(k_dim, v_width)] unpacked K, then V
};

inline UnitScratch Carve(const AttendArgs& u) {
  UnitScratch s;
  s.scores = u.scratch;
  s.tile = s.scores + u.rows * kPanelColumns;
  s.q_bf16 = reinterpret_cast<uint16_t*>(s.tile + kPanelColumns * MaxOf(u.kv.k_dim, u.kv.v_width));
  s.maximum = reinterpret_cast<float*>(s.q_bf16 + u.rows * u.kv.k_dim);
  s.sum = s.maximum + (u.rows + 15) / 16 * 16;
  return s;
}

// scores[rows][columns] = q K^T of one tile; columns a multiple of 16.
template <class V>
void TileScores(const AttendArgs& u, const UnitScratch& s, const uint8_t* k, int64_t row, int64_t rows,
                int64_t columns) {
  const int64_t d = u.kv.k_dim;
  const float* q = u.q + row * d;
  float* out = s.scores + row * kPanelColumns;
  if (u.kv.format == KvFormat::kF32) {
    return Multiply<V, FloatKind<V>>(rows, columns, d, q, d, reinterpret_cast<const float*>(k), kPanelColumns, out,
                                     kPanelColumns, false);
  }
  const uint16_t* pairs = reinterpret_cast<const uint16_t*>(k);
  if constexpr (V::kHasBf16Dot) {
    if (u.round_weights) {
      return Multiply<V, DotKind<V>>(rows, columns, d, s.q_bf16 + row * d, d, pairs, kPanelColumns, out, kPanelColumns,
                                     false);
    }
  }
  if (rows <= kSharedTileRows) {
    return Multiply<V, PairKind<V>>(rows, columns, d, q, d, pairs, kPanelColumns, out, kPanelColumns, false);
  }
  UnpackPairs<V>(pairs, kPanelColumns, columns, d, s.tile);
  Multiply<V, FloatKind<V>>(rows, columns, d, q, d, s.tile, kPanelColumns, out, kPanelColumns, false);
}

// out[rows][v_width] += weights[rows][keys] V of one tile; keys even.
template <class V>
void TileOutput(const AttendArgs& u, const UnitScratch& s, const uint8_t* v, int64_t row, int64_t rows, int64_t keys) {
  const int64_t width = u.kv.v_width;
  const float* p = s.scores + row * kPanelColumns;
  float* out = u.out + row * width;
  if (u.kv.format == KvFormat::kF32) {
    return Multiply<V, FloatKind<V>>(rows, width, keys, p, kPanelColumns, reinterpret_cast<const float*>(v), width, out,
                                     width, true);
  }
  const uint16_t* pairs = reinterpret_cast<const uint16_t*>(v);
  if constexpr (V::kHasBf16Dot) {
    if (u.round_weights) {  // the row's weights lie as bf16 at the start of its 64 floats
      return Multiply<V, DotKind<V>>(rows, width, keys, reinterpret_cast<const uint16_t*>(p), 2 * kPanelColumns, pairs,
                                     width, out, width, true);
    }
  }
  if (rows <= kSharedTileRows) {
    return Multiply<V, PairKind<V>>(rows, width, keys, p, kPanelColumns, pairs, width, out, width, true);
  }
  UnpackPairs<V>(pairs, width, width, keys, s.tile);
  Multiply<V, FloatKind<V>>(rows, width, keys, p, kPanelColumns, s.tile, width, out, width, true);
}

// Whether the weights of a tile meet V as bf16, packed at the start of each row of scores.
template <class V>
bool PacksWeights(const AttendArgs& u) {
  return V::kHasBf16Dot && u.round_weights && u.kv.format == KvFormat::kBf16;
}

// Weights in base 2: 2^((score - maximum) * factor), with both kept unscaled. The difference is exact where it matters,
// near the maximum, so that a constant added to all scores changes nothing and scores of any size survive.
inline float ScoreFactor(const AttendArgs& u) {
  return u.scale * kLog2E;
}

// Weights of a row's tile relative to its maximum, in place of the scores; returns their sum by lanes. What is summed
// is what meets V: equal values then give exactly that value.
template <class V, bool kRound, bool kPack>
typename V::F TileWeights(float* x, int64_t columns, float factor, float maximum) {
  const typename V::F scale = V::Set1(factor), shift = V::Set1(maximum);
  typename V::F sum = V::Zero();
  typename V::F unrounded = V::Zero();  // carries a NaN that rounding by integers would lose
  for (int64_t c = 0; c < columns; c += V::kLanes) {
    typename V::F p = Exp2OfNegative<V>(V::Mul(V::Sub(V::Load(x + c), shift), scale));
    if constexpr (kRound) {
      unrounded = V::Add(unrounded, p);
      p = V::RoundBf16Number(p);
    }
    sum = V::Add(sum, p);
    if constexpr (kPack) {
      V::StoreBf16Number(reinterpret_cast<uint16_t*>(x) + c, p);  // behind the scores still to be read
    } else {
      V::Store(x + c, p);
    }
  }
  if constexpr (kRound) {
    if (V::HasNan(unrounded)) return unrounded;
  }
  return sum;
}

template <class V>
typename V::F TileWeights(const AttendArgs& u, float* x, int64_t columns, float maximum) {
  const float factor = ScoreFactor(u);
  if constexpr (V::kHasBf16Dot) {
    if (PacksWeights<V>(u)) return TileWeights<V, true, true>(x, columns, factor, maximum);
  }
  if (u.round_weights) return TileWeights<V, true, false>(x, columns, factor, maximum);
  return TileWeights<V, false, false>(x, columns, factor, maximum);
}

// Turns a row's scores of one tile into weights relative to its running maximum; rescales what the row holds when that
// grew. Visible columns are [low, high).
template <class V>
void SoftmaxRow(const AttendArgs& u, const UnitScratch& s, int64_t row, int64_t columns, int64_t low, int64_t high) {
  float* x = s.scores + row * kPanelColumns;
  float* sum = s.sum + row * kSumLanes;
  for (int64_t c = 0; c < MinOf(low, columns); ++c) x[c] = kMinusInfinity;
  for (int64_t c = MaxOf(high, 0); c < columns; ++c) x[c] = kMinusInfinity;
  typename V::F largest = V::Set1(kMinusInfinity);
  for (int64_t c = 0; c < columns; c += V::kLanes) largest = V::Max(largest, V::Load(x + c));
  const float old_maximum = s.maximum[row];
  const float tile_maximum = V::ReduceMax(largest);
  const float maximum = tile_maximum > old_maximum ? tile_maximum : old_maximum;
  if (maximum == kMinusInfinity) {
    bool any_nan = false;  // a NaN score hides from the maximum; it must still reach its row
    for (int64_t c = low; c < high; ++c) any_nan |= x[c] != x[c];
    for (int64_t c = 0; c < columns; c += V::kLanes) V::Store(x + c, V::Zero());
    if (any_nan) sum[0] = __builtin_nanf("");
    return;
  }
  if (maximum > old_maximum) {
    const float shrink =
        Exp2OfNegativeOne<V>((old_maximum - maximum) * ScoreFactor(u));  // 0 for the first tile: 2^-inf
    s.maximum[row] = maximum;
    V::Store(sum, V::Mul(V::Load(sum), V::Set1(shrink)));
    float* out = u.out + row * u.kv.v_width;
    for (int64_t c = 0; c < u.kv.v_width; c += V::kLanes) V::Store(out + c, V::Mul(V::Load(out + c), V::Set1(shrink)));
  }
  V::Store(sum, V::Add(V::Load(sum), TileWeights<V>(u, x, columns, maximum)));
}

// A row's weights of a tile, packed or not.
template <class V>
float WeightOf(const AttendArgs& u, const float* x, int64_t column) {
  if (!PacksWeights<V>(u)) return x[column];
  const uint32_t word = uint32_t{reinterpret_cast<const uint16_t*>(x)[column]} << 16;
  float value;
  __builtin_memcpy(&value, &word, sizeof value);
  return value;
}

// A value that is not finite times a weight of 0 would be NaN. Where such a value hides from some rows behind the mask,
// those rows are computed key by key over what they see.
template <class V>
bool HasNonfinite(const AttendArgs& u, const uint8_t* v, int64_t keys) {
  const int64_t count = keys * u.kv.v_width;
  typename V::F bad = V::Zero();  // x - x is 0 for finite x, else NaN, and NaN stays in a sum
  for (int64_t i = 0; i < count; i += V::kLanes) {
    if (u.kv.format == KvFormat::kF32) {
      const typename V::F x = V::Load(reinterpret_cast<const float*>(v) + i);
      bad = V::Add(bad, V::Sub(x, x));
    } else if (i % (2 * V::kLanes) == 0) {
      const typename V::F even = V::EvenBf16(reinterpret_cast<const uint16_t*>(v) + i);
      const typename V::F odd = V::OddBf16(reinterpret_cast<const uint16_t*>(v) + i);
      bad = V::Add(bad, V::Add(V::Sub(even, even), V::Sub(odd, odd)));
    }
  }
  const float sum = V::ReduceAdd(bad);
  return sum != sum;
}

inline float CellOf(const AttendArgs& u, const uint8_t* v, int64_t key, int64_t column) {
  if (u.kv.format == KvFormat::kF32) return reinterpret_cast<const float*>(v)[key * u.kv.v_width + column];
  const uint32_t bits = reinterpret_cast<const uint16_t*>(v)[(key / 2 * u.kv.v_width + column) * 2 + key % 2];
  float value;
  const uint32_t word = bits << 16;
  __builtin_memcpy(&value, &word, sizeof value);
  return value;
}

template <class V>
void VisibleOutput(const AttendArgs& u, const UnitScratch& s, const uint8_t* v, int64_t row, int64_t low,
                   int64_t high) {
  float* out = u.out + row * u.kv.v_width;
  for (int64_t key = low; key < high; ++key) {
    const float weight = WeightOf<V>(u, s.scores + row * kPanelColumns, key);
    for (int64_t c = 0; c < u.kv.v_width; ++c) out[c] += weight * CellOf(u, v, key, c);
  }
}

template <class V>
void AttendTile(const AttendArgs& u, const UnitScratch& s, int64_t tile, int64_t first_row, int64_t last_row) {
  const int64_t tile_begin = tile * kPanelColumns;
  const int64_t low_key = MaxOf(u.key_begin, tile_begin);
  const int64_t high_key = MinOf(u.key_end, tile_begin + kPanelColumns);
  // Rows that see something here are a contiguous run, since both ends of what a row sees rise with it.
  int64_t row = first_row, row_end = last_row;
  while (row < row_end && u.row_end[row] <= low_key) ++row;
  while (row_end > row && u.row_begin[row_end - 1] >= high_key) --row_end;
  if (row >= row_end) return;
  const int64_t rows = row_end - row;
  const int64_t keys = MinOf(high_key, u.row_end[row_end - 1]) - tile_begin;
  const int64_t columns = (keys + 15) / 16 * 16;
  const uint8_t* block = u.kv.blocks[tile];

  TileScores<V>(u, s, block + u.kv.k_offset, row, rows, columns);
  bool mixed = false;
  for (int64_t r = row; r < row_end; ++r) {
    const int64_t low = MaxOf(low_key, u.row_begin[r]) - tile_begin;
    const int64_t high = MinOf(high_key, u.row_end[r]) - tile_begin;
    mixed |= low > 0 || high < columns;
    SoftmaxRow<V>(u, s, r, columns, low, high);
  }
  const uint8_t* v = block + u.kv.v_offset;
  const int64_t even_keys = keys + (keys & 1);
  if (mixed && HasNonfinite<V>(u, v, even_keys)) {
    for (int64_t r = row; r < row_end; ++r) {
      VisibleOutput<V>(u, s, v, r, MaxOf(low_key, u.row_begin[r]) - tile_begin,
                       MinOf(high_key, u.row_end[r]) - tile_begin);
    }
    return;
  }
  TileOutput<V>(u, s, v, row, rows, even_keys);
}

template <class V>
void Attend(const AttendArgs& u) {
  const UnitScratch s = Carve(u);
  const int64_t width = u.kv.v_width;
  for (int64_t r = 0; r < u.rows; ++r) {
    s.maximum[r] = kMinusInfinity;
    for (int64_t i = 0; i < kSumLanes; ++i) s.sum[r * kSumLanes + i] = 0.0f;
  }
  for (int64_t i = 0; i < u.rows * width; i += V::kLanes) V::Store(u.out + i, V::Zero());
  if (V::kHasBf16Dot && u.round_weights) {
    for (int64_t i = 0; i < u.rows * u.kv.k_dim; i += V::kLanes) V::StoreBf16(s.q_bf16 + i, V::Load(u.q + i));
  }
  const int64_t begin = MaxOf(u.key_begin, u.row_begin[0]);
  const int64_t end = MinOf(u.key_end, u.row_end[u.rows - 1]);
  for (int64_t tile = begin / kPanelColumns; tile * kPanelColumns < end; ++tile) AttendTile<V>(u, s, tile, 0, u.rows);

  for (int64_t r = 0; r < u.rows; ++r) {
    const float sum = V::ReduceAdd(V::Load(s.sum + r * kSumLanes));
    float* out = u.out + r * width;
    // A division, not a reciprocal: equal values come out as exactly that value. A row that saw nothing holds 0
    // already.
    const typename V::F divisor = V::Set1(sum == 0.0f ? 1.0f : sum);
    for (int64_t c = 0; c < width; c += V::kLanes) V::Store(out + c, V::Div(V::Load(out + c), divisor));
    u.lse[r] = sum == 0.0f ? kMinusInfinity : static_cast<float>(double{s.maximum[r]} * u.scale + __builtin_log(sum));
  }
}

template <class V>
void AttentionRow(const AttentionRowArgs& a) {
  float scores[kPanelColumns];
  for (int64_t key = a.key_begin; key < a.key_end;) {
    const int64_t tile = key / kPanelColumns;
    const int64_t end = MinOf(a.key_end, (tile + 1) * kPanelColumns);
    const uint8_t* k = a.kv.blocks[tile] + a.kv.k_offset;
    if (a.kv.format == KvFormat::kF32) {
      Multiply<V, FloatKind<V>>(1, kPanelColumns, a.kv.k_dim, a.q, a.kv.k_dim, reinterpret_cast<const float*>(k),
                                kPanelColumns, scores, kPanelColumns, false);
    } else {
      Multiply<V, PairKind<V>>(1, kPanelColumns, a.kv.k_dim, a.q, a.kv.k_dim, reinterpret_cast<const uint16_t*>(k),
                               kPanelColumns, scores, kPanelColumns, false);
    }
    for (int64_t c = 0; c < kPanelColumns; c += V::kLanes) {
      V::Store(scores + c, Exp<V>(V::Sub(V::Mul(V::Load(scores + c), V::Set1(a.scale)), V::Set1(a.lse))));
    }
    for (; key < end; ++key) a.weights[key - a.key_begin] = scores[key % kPanelColumns];
  }
}

}  // namespace
}  // namespace attend
