// scores = q K^T of one tile of 64 keys, whatever form K has; then the terms beside it and the mask.
#pragma once

#include "kernels/isa/unit_scratch.h"

namespace attend {
namespace {

// One tile as the rows of a unit meet it: rows [row, row + rows), keys [0, keys) of it, `columns` = keys rounded up to
// 16; mixed: some of these rows do not see some of these keys, or only `keys` of 64 are wanted.
struct Tile {
  int64_t index;
  int64_t row;
  int64_t rows;
  int64_t keys;
  int64_t columns;
  bool mixed;
  int64_t ahead;  // bytes to the same place of the tile that is read next; 0: there is none
};

// c (+)= a b for the tile's rows; few of them ask for the next tile while they read this one.
template <class V, template <class, bool> class Kind>
void TileProduct(const Tile& t, int64_t columns, int64_t k, const typename Kind<V, false>::A* a, int64_t lda,
                 const typename Kind<V, false>::B* b, int64_t ldb, float* c, int64_t ldc, bool accumulate) {
  if (t.rows > kSharedTileRows) {
    return Multiply<V, Kind<V, false>>(t.rows, columns, k, a, lda, b, ldb, c, ldc, accumulate);
  }
  const int64_t ahead = t.ahead / static_cast<int64_t>(sizeof *b);
  Multiply<V, Kind<V, true>>(t.rows, columns, k, a, lda, b, ldb, c, ldc, accumulate, ahead);
}

template <class V, int kBits>
void IntScores(const AttendArgs& u, const UnitScratch& s, const Tile& t, const uint8_t* k) {
  using Cells = IntCells<V, kBits, true>;
  constexpr int32_t kZero = kBits == 8 ? 128 : 8;
  const int64_t d = u.kv.k_dim, groups = (d + u.kv.k_group - 1) / u.kv.k_group;
  const uint16_t* scales = KScales(u.kv, k);
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t first = g * u.kv.k_group, inputs = MinOf(d - first, u.kv.k_group);
    IntMultiply<V, Cells>(
        t.rows, t.columns, s.q_codes + t.row * d + first, d, k + first / Cells::kInputs * 4 * kPanelColumns,
        kPanelColumns, inputs, t.ahead, [&](int64_t r, int64_t column, typename V::I sums) {
          const int64_t row = t.row + r;
          const typename V::F whole = V::WordsToFloat(V::SubtractWords(sums, kZero * s.q_sums[row * groups + g]));
          const typename V::F scale = V::Mul(V::LoadF16(scales + g * kPanelColumns + column), V::Set1(s.q_scale[row]));
          float* x = s.scores + row * kPanelColumns + column;
          V::Store(x, g == 0 ? V::Mul(whole, scale) : V::Fma(whole, scale, V::Load(x)));
        });
  }
}

// Few rows against plain K: each key is read once, where it lies.
template <class V>
void PlainScores(const AttendArgs& u, const UnitScratch& s, const Tile& t) {
  float buffer[kMostDimensions];
  for (int64_t key = 0; key < t.columns; ++key) {
    const float* k = key < t.keys
                         ? PlainRow<V>(u.kv.k_format, u.kv.k_rows, t.index * kPanelColumns + key, u.kv.k_dim, buffer)
                         : nullptr;
    for (int64_t r = t.row; r < t.row + t.rows; ++r) {
      typename V::F sum = V::Zero();
      for (int64_t d = 0; k != nullptr && d < u.kv.k_dim; d += V::kLanes) {
        sum = V::Fma(V::Load(u.q + r * u.kv.k_dim + d), V::Load(k + d), sum);
      }
      s.scores[r * kPanelColumns + key] = V::ReduceAdd(sum);
    }
  }
}

// Few rows against quantised K: the products of codes, then their scales.
template <class V, class Words>
void WordScores(const AttendArgs& u, const UnitScratch& s, const Tile& t, const uint8_t* k) {
  const int64_t d = u.kv.k_dim;
  const uint16_t* scales = KScales(u.kv, k);
  for (int64_t first = 0; first < d; first += u.kv.k_group, scales += kPanelColumns) {
    const int64_t inputs = MinOf(d - first, u.kv.k_group);
    Multiply<V, WordKind<V, Words>>(t.rows, t.columns, inputs, u.q + t.row * d + first, d,
                                    k + first / Words::kInputs * 4 * kPanelColumns, kPanelColumns, s.p_scaled,
                                    kPanelColumns, false, t.ahead);
    for (int64_t r = 0; r < t.rows; ++r) {
      float* x = s.scores + (t.row + r) * kPanelColumns;
      const float* codes = s.p_scaled + r * kPanelColumns;
      for (int64_t c = 0; c < t.columns; c += V::kLanes) {
        const typename V::F y = V::Mul(V::Load(codes + c), V::LoadF16(scales + c));
        V::Store(x + c, first == 0 ? y : V::Add(V::Load(x + c), y));
      }
    }
  }
}

template <class V>
void TileScores(const AttendArgs& u, const UnitScratch& s, const Tile& t) {
  const int64_t d = u.kv.k_dim;
  const float* q = u.q + t.row * d;
  float* out = s.scores + t.row * kPanelColumns;
  const bool few = t.rows <= kSharedTileRows;
  if (u.kv.blocks == nullptr) {
    if (few) return PlainScores<V>(u, s, t);
  } else {
    const uint8_t* k = u.kv.blocks[t.index] + u.kv.k_offset;
    if (HasIntKeys(u)) {
      return u.kv.k_format == CellFormat::kQ8 ? IntScores<V, 8>(u, s, t, k) : IntScores<V, 4>(u, s, t, k);
    }
    if (t.rows <= kSharedWordRows && IsQuantised(u.kv.k_format)) {
      return u.kv.k_format == CellFormat::kQ8 ? WordScores<V, ByteWords<V, true>>(u, s, t, k)
                                              : WordScores<V, NibbleWords<V>>(u, s, t, k);
    }
    const float* floats = reinterpret_cast<const float*>(k);
    const uint16_t* halves = reinterpret_cast<const uint16_t*>(k);
    if (u.kv.k_format == CellFormat::kF32) {
      return TileProduct<V, FloatKind>(t, t.columns, d, q, d, floats, kPanelColumns, out, kPanelColumns, false);
    }
    if constexpr (V::kHasBf16Dot) {
      if (u.kv.k_format == CellFormat::kBf16 && RoundsWeights(u)) {
        return TileProduct<V, DotKind>(t, t.columns, d, s.q_bf16 + t.row * d, d, halves, kPanelColumns, out,
                                       kPanelColumns, false);
      }
    }
    if (few && u.kv.k_format == CellFormat::kBf16) {
      return TileProduct<V, PairKind>(t, t.columns, d, q, d, halves, kPanelColumns, out, kPanelColumns, false);
    }
    if (few && u.kv.k_format == CellFormat::kF16) {
      return TileProduct<V, HalfKind>(t, t.columns, d, q, d, halves, kPanelColumns, out, kPanelColumns, false);
    }
  }
  UnpackK<V>(u.kv, t.index, t.keys, t.columns, s.k_tile);
  Multiply<V, FloatKind<V>>(t.rows, t.columns, d, q, d, s.k_tile, kPanelColumns, out, kPanelColumns, false);
}

// A row of bias for the tile's keys as floats: where it lies, or in `buffer` [64]; keys that do not exist are 0.
template <class V>
const float* LoadBias(const ScoreTerms& terms, int64_t row, int64_t first_key, float* buffer) {
  const int64_t width = terms.bias_format == BiasFormat::kF32 ? 4 : 2;
  const int64_t here = MinOf(kPanelColumns, terms.bias_keys - first_key);
  const uint8_t* at = terms.bias[row] + (terms.bias_broadcast ? 0 : first_key * width);
  const bool in_place = here == kPanelColumns && width == 4 && !terms.bias_broadcast;
  if (here == kPanelColumns && !terms.bias_broadcast) {
    // The row's next tile: rows lie apart, and no processor sees what comes after the last row.
    for (int64_t i = 0; i < kPanelColumns * width; i += 64) __builtin_prefetch(at + kPanelColumns * width + i, 0, 2);
  }
  if (in_place) return reinterpret_cast<const float*>(at);
  const int64_t values = terms.bias_broadcast ? 1 : here;
  if (width == 4) {
    __builtin_memcpy(buffer, at, static_cast<uint64_t>(4 * values));
  } else {
    uint16_t halves[kPanelColumns];
    __builtin_memcpy(halves, at, static_cast<uint64_t>(2 * values));
    uint32_t words[kPanelColumns];
    for (int64_t i = 0; i < values; ++i) words[i] = uint32_t{halves[i]} << 16;
    __builtin_memcpy(buffer, words, sizeof words);
    for (int64_t c = 0; terms.bias_format == BiasFormat::kF16 && c < values; c += V::kLanes) {
      V::Store(buffer + c, V::LoadF16(halves + c));
    }
  }
  for (int64_t i = values; i < kPanelColumns; ++i) buffer[i] = terms.bias_broadcast ? buffer[0] : 0.0f;
  return buffer;
}

// x = softcap(scale x) + bias - slope |position - key|, in place.
template <class V>
void AddTerms(const AttendArgs& u, const UnitScratch& s, const Tile& t) {
  const ScoreTerms& terms = u.terms;
  float buffer[kPanelColumns], distance[kPanelColumns];
  const float* bias = buffer;
  for (int64_t r = t.row; r < t.row + t.rows; ++r) {
    float* x = s.scores + r * kPanelColumns;
    const int64_t first_key = t.index * kPanelColumns;
    if (terms.bias_format != BiasFormat::kNone) bias = LoadBias<V>(terms, r, first_key, buffer);
    if (terms.alibi_slope != nullptr) {
      const float ahead = static_cast<float>(terms.row_position[r] - first_key);
      for (int c = 0; c < kPanelColumns; ++c) distance[c] = ahead - static_cast<float>(c);
    }
    for (int64_t c = 0; c < t.columns; c += V::kLanes) {
      typename V::F y = V::Mul(V::Load(x + c), V::Set1(u.scale[r]));
      if (terms.softcap > 0) {
        const float inverse = 2.0f / terms.softcap < __FLT_MAX__ ? 2.0f / terms.softcap : __FLT_MAX__;
        const typename V::F e = Exp<V>(V::Mul(y, V::Set1(inverse)));
        const typename V::F one = V::Set1(1.0f);
        y = V::Mul(V::Set1(terms.softcap), V::Sub(one, V::Div(V::Set1(2.0f), V::Add(e, one))));
      }
      if (terms.bias_format != BiasFormat::kNone) y = V::Add(y, V::Load(bias + c));
      if (terms.alibi_slope != nullptr) {
        const typename V::F away = V::Load(distance + c);
        y = V::Sub(y, V::Mul(V::Set1(terms.alibi_slope[r]), V::Max(away, V::Sub(V::Zero(), away))));
      }
      V::Store(x + c, y);
    }
  }
}

// Scores of the tile, terms added; what a row does not see is minus infinity.
template <class V>
void MaskedScores(const AttendArgs& u, const UnitScratch& s, const Tile& t) {
  TileScores<V>(u, s, t);
  if (u.terms.is_on) AddTerms<V>(u, s, t);
  if (!t.mixed) return;
  for (int64_t r = t.row; r < t.row + t.rows; ++r) {
    float* x = s.scores + r * kPanelColumns;
    for (int64_t c = 0; c < t.columns; c += V::kLanes) {
      V::Store(x + c, V::KeepVisible(V::Load(x + c), static_cast<uint32_t>(s.visible[r] >> c)));
    }
  }
}

// What softmax multiplies the scores by: with terms they carry the scale already.
inline float ScaleLeft(const AttendArgs& u, int64_t row) {
  return u.terms.is_on ? 1.0f : u.scale[row];
}

}  // namespace
}  // namespace attend
