// out += weights V of one tile, whatever form V has.
#pragma once

#include "kernels/isa/tile_scores.h"

namespace attend {
namespace {

// A row's weight, packed or not.
template <class V>
float WeightOf(const AttendArgs& u, const UnitScratch& s, int64_t row, int64_t column) {
  const float* x = s.scores + row * kPanelColumns;
  if (!PacksWeights<V>(u)) return x[column];
  const uint32_t word = uint32_t{reinterpret_cast<const uint16_t*>(x)[column]} << 16;
  float value;
  __builtin_memcpy(&value, &word, sizeof value);
  return value;
}

// The weights of a row times the scales of its keys, as codes of at most 255 with one scale.
template <class V>
void QuantiseWeights(const float* weights, const uint16_t* scales, int64_t columns, uint8_t* codes, float* scale) {
  float scaled[kPanelColumns];
  typename V::F largest = V::Zero(), bad = V::Zero();
  for (int64_t c = 0; c < columns; c += V::kLanes) {
    const typename V::F y = V::Mul(V::Load(weights + c), V::LoadF16(scales + c));
    V::Store(scaled + c, y);
    largest = V::Max(largest, y);
    bad = V::Add(bad, V::Sub(y, y));
  }
  const float limit = V::ReduceMax(largest), nan = V::ReduceAdd(bad);
  const typename V::F inverse = V::Set1(limit > 0 ? 255.0f / limit : 0.0f);
  for (int64_t c = 0; c < columns; c += V::kLanes) V::StoreBytes(codes + c, V::Mul(V::Load(scaled + c), inverse));
  for (int64_t c = columns; c < kPanelColumns; ++c) codes[c] = 0;
  *scale = limit / 255.0f + nan;
}

template <class V, int kBits>
void IntOutput(const AttendArgs& u, const UnitScratch& s, const Tile& t, const uint8_t* v) {
  using Cells = IntCells<V, kBits, false>;
  const int64_t width = u.kv.v_width;
  const uint16_t* scales = VScales(u.kv, v);
  const int64_t keys = (t.keys + Cells::kInputs - 1) / Cells::kInputs * Cells::kInputs;
  for (int64_t g = 0; g * u.kv.v_group < width; ++g) {
    for (int64_t r = t.row; r < t.row + t.rows; ++r) {
      QuantiseWeights<V>(s.scores + r * kPanelColumns, scales + g * kPanelColumns, t.columns,
                         s.p_codes + r * kPanelColumns, s.p_scale + r);
    }
    const int64_t first = g * u.kv.v_group;
    IntMultiply<V, Cells>(t.rows, MinOf(width - first, u.kv.v_group), s.p_codes + t.row * kPanelColumns, kPanelColumns,
                          v + 4 * first, width, keys, t.ahead, [&](int64_t r, int64_t column, typename V::I sums) {
                            float* out = u.out + (t.row + r) * width + first + column;
                            V::Store(out, V::Fma(V::WordsToFloat(sums), V::Set1(s.p_scale[t.row + r]), V::Load(out)));
                          });
  }
}

// Few rows over quantised V: weights times the scales of their keys meet the codes.
template <class V, class Words>
void WordOutput(const AttendArgs& u, const UnitScratch& s, const Tile& t, const uint8_t* v) {
  const int64_t width = u.kv.v_width;
  const uint16_t* scales = VScales(u.kv, v);
  const int64_t keys = (t.keys + Words::kInputs - 1) / Words::kInputs * Words::kInputs;
  for (int64_t first = 0; first < width; first += u.kv.v_group, scales += kPanelColumns) {
    for (int64_t r = 0; r < t.rows; ++r) {
      const float* x = s.scores + (t.row + r) * kPanelColumns;
      float* scaled = s.p_scaled + r * kPanelColumns;
      for (int64_t c = 0; c < t.columns; c += V::kLanes) {
        V::Store(scaled + c, V::Mul(V::Load(x + c), V::LoadF16(scales + c)));
      }
    }
    Multiply<V, WordKind<V, Words>>(t.rows, MinOf(width - first, u.kv.v_group), keys, s.p_scaled, kPanelColumns,
                                    v + 4 * first, width, u.out + t.row * width + first, width, true, t.ahead);
  }
}

// Rows of V one by one, each for the rows that see it: for few rows over plain V, and where V holds something that is
// not finite, since 0 times that would be NaN.
template <class V>
void OutputByKey(const AttendArgs& u, const UnitScratch& s, const Tile& t, int64_t key, const float* v) {
  for (int64_t r = t.row; r < t.row + t.rows; ++r) {
    if (t.mixed && (s.visible[r] >> key & 1) == 0) continue;
    const typename V::F weight = V::Set1(WeightOf<V>(u, s, r, key));
    float* out = u.out + r * u.kv.v_width;
    for (int64_t c = 0; c < u.kv.v_width; c += V::kLanes) {
      V::Store(out + c, V::Fma(weight, V::Load(v + c), V::Load(out + c)));
    }
  }
}

template <class V>
bool HasNonfinite(const float* x, int64_t count) {
  typename V::F bad = V::Zero();  // x - x is 0 for finite x, else NaN, and NaN stays in a sum
  for (int64_t i = 0; i < count; i += V::kLanes) bad = V::Add(bad, V::Sub(V::Load(x + i), V::Load(x + i)));
  const float sum = V::ReduceAdd(bad);
  return sum != sum;
}

template <class V>
void TileOutput(const AttendArgs& u, const UnitScratch& s, const Tile& t) {
  const int64_t width = u.kv.v_width;
  const bool few = t.rows <= kSharedTileRows;
  if (few && u.kv.blocks == nullptr && !u.kv.v_in_k) {
    float buffer[kMostDimensions];
    for (int64_t key = 0; key < t.keys; ++key) {
      OutputByKey<V>(u, s, t, key,
                     PlainRow<V>(u.kv.v_format, u.kv.v_rows, t.index * kPanelColumns + key, width, buffer));
    }
    return;
  }
  if (t.mixed) {
    // The products below read tiles in steps of up to 16 keys: what lies there must be finite too.
    const int64_t keys = u.kv.blocks == nullptr ? t.keys : t.columns;
    UnpackV<V>(u.kv, t.index, keys, s.k_tile, s.v_tile);
    if (HasNonfinite<V>(s.v_tile, keys * width)) {
      for (int64_t key = 0; key < t.keys; ++key) OutputByKey<V>(u, s, t, key, s.v_tile + key * width);
      return;
    }
  }
  float* out = u.out + t.row * width;
  const float* p = s.scores + t.row * kPanelColumns;
  if (u.kv.blocks != nullptr && !u.kv.v_in_k) {
    const uint8_t* v = u.kv.blocks[t.index] + u.kv.v_offset;
    if (HasIntValues(u)) {
      return u.kv.v_format == CellFormat::kQ8 ? IntOutput<V, 8>(u, s, t, v) : IntOutput<V, 4>(u, s, t, v);
    }
    if (t.rows <= kSharedWordRows && IsQuantised(u.kv.v_format)) {
      return u.kv.v_format == CellFormat::kQ8 ? WordOutput<V, ByteWords<V, false>>(u, s, t, v)
                                              : WordOutput<V, NibbleWords<V>>(u, s, t, v);
    }
    const float* floats = reinterpret_cast<const float*>(v);
    const uint16_t* halves = reinterpret_cast<const uint16_t*>(v);
    const int64_t even_keys = t.keys + (t.keys & 1);
    if (u.kv.v_format == CellFormat::kF32) {
      return TileProduct<V, FloatKind>(t, width, t.keys, p, kPanelColumns, floats, width, out, width, true);
    }
    if constexpr (V::kHasBf16Dot) {
      if (PacksWeights<V>(u)) {  // the row's weights lie as bf16 at the start of its 64 floats
        return TileProduct<V, DotKind>(t, width, even_keys, reinterpret_cast<const uint16_t*>(p), 2 * kPanelColumns,
                                       halves, width, out, width, true);
      }
    }
    if (few && u.kv.v_format == CellFormat::kBf16) {
      return TileProduct<V, PairKind>(t, width, even_keys, p, kPanelColumns, halves, width, out, width, true);
    }
    if (few && u.kv.v_format == CellFormat::kF16) {
      return TileProduct<V, HalfKind>(t, width, t.keys, p, kPanelColumns, halves, width, out, width, true);
    }
  }
  if (!t.mixed) UnpackV<V>(u.kv, t.index, t.keys, s.k_tile, s.v_tile);
  Multiply<V, FloatKind<V>>(t.rows, width, t.keys, p, kPanelColumns, s.v_tile, width, out, width, true);
}

}  // namespace
}  // namespace attend
