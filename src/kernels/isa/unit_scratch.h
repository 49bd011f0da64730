// The scratch memory of one attention work unit, and what is fixed for its whole run.
#pragma once

#include "kernels/isa/int_dot.h"

namespace attend {
namespace {

// Rows up to this many read a tile's cells directly; more rows share one unpacked copy of it.
inline constexpr int64_t kSharedTileRows = 36;
inline constexpr int64_t kSharedWordRows = 12;  // the same of 8- and 4-bit cells, which take more steps to read

struct UnitScratch {
  float* scores;         // [rows][64], then weights in place
  uint16_t* q_bf16;      // [rows][k_dim]
  uint8_t* q_codes;      // [rows][k_dim], signed
  float* q_scale;        // [rows]
  int32_t* q_sums;       // [rows][groups of K]: of the codes
  float* maximum;        // [rows], of the scores before their factor
  float* sum;            // [rows][kSumLanes], added up once at the end
  float* exponent_sum;   // [rows][kSumLanes]: sum p log2 p, relative to the maximum
  float* column_sum;     // [rows][kSumLanes]: sum p (key % 64)
  float* first_keys;     // [rows]
  float* near_keys;      // [rows]
  int64_t* largest_key;  // [rows]
  uint64_t* visible;     // [rows]: bits of the tile's keys
  uint8_t* p_codes;      // [rows][64]
  float* p_scale;        // [rows]
  float* p_scaled;       // [kSharedWordRows][64]: weights times the scales of V
  float* k_tile;         // [k_dim][64] unpacked
  float* v_tile;         // [64][v_width] unpacked
};

template <class T>
T* Take(float*& memory, int64_t count) {
  T* const taken = reinterpret_cast<T*>(memory);
  memory += (count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 16;
  return taken;
}

inline UnitScratch Carve(const AttendArgs& u) {
  float* memory = u.scratch;
  const int64_t rows = u.rows, groups = (u.kv.k_dim + u.kv.k_group - 1) / u.kv.k_group;
  UnitScratch s;
  s.scores = Take<float>(memory, rows * kPanelColumns);
  s.k_tile = Take<float>(memory, kPanelColumns * u.kv.k_dim);
  s.v_tile = Take<float>(memory, kPanelColumns * u.kv.v_width);
  s.q_bf16 = Take<uint16_t>(memory, rows * u.kv.k_dim);
  s.q_codes = Take<uint8_t>(memory, rows * u.kv.k_dim);
  s.q_scale = Take<float>(memory, rows);
  s.q_sums = Take<int32_t>(memory, rows * groups);
  s.maximum = Take<float>(memory, rows);
  s.sum = Take<float>(memory, rows * kSumLanes);
  s.exponent_sum = Take<float>(memory, rows * kSumLanes);
  s.column_sum = Take<float>(memory, rows * kSumLanes);
  s.first_keys = Take<float>(memory, rows);
  s.near_keys = Take<float>(memory, rows);
  s.largest_key = Take<int64_t>(memory, rows);
  s.visible = Take<uint64_t>(memory, rows);
  s.p_codes = Take<uint8_t>(memory, rows * kPanelColumns);
  s.p_scale = Take<float>(memory, rows);
  s.p_scaled = Take<float>(memory, kSharedWordRows * kPanelColumns);
  return s;
}

inline bool RoundsWeights(const AttendArgs& u) {
  return u.score_class != ScoreClass::kExact;
}
// Whether q meets K, and the weights meet V, as 8-bit codes.
inline bool HasIntKeys(const AttendArgs& u) {
  return u.score_class == ScoreClass::kInt8 && IsQuantised(u.kv.k_format);
}
inline bool HasIntValues(const AttendArgs& u) {
  return u.score_class == ScoreClass::kInt8 && IsQuantised(u.kv.v_format) && !u.kv.v_in_k;
}
// Whether the weights of a tile meet V as bf16, packed at the start of each row of scores.
template <class V>
bool PacksWeights(const AttendArgs& u) {
  return V::kHasBf16Dot && RoundsWeights(u) && u.kv.blocks != nullptr && u.kv.v_format == CellFormat::kBf16 &&
         !u.kv.v_in_k;
}

// Queries in the forms that the products read.
template <class V>
void PrepareQueries(const AttendArgs& u, const UnitScratch& s) {
  const int64_t d = u.kv.k_dim;
  if (V::kHasBf16Dot && RoundsWeights(u)) {
    for (int64_t i = 0; i < u.rows * d; i += V::kLanes) V::StoreBf16(s.q_bf16 + i, V::Load(u.q + i));
  }
  if (!HasIntKeys(u)) return;
  const int64_t groups = (d + u.kv.k_group - 1) / u.kv.k_group;
  for (int64_t r = 0; r < u.rows; ++r) {
    s.q_scale[r] = QuantiseSigned<V>(u.q + r * d, d, s.q_codes + r * d);
    for (int64_t g = 0; g < groups; ++g) {
      int32_t sum = 0;
      for (int64_t i = g * u.kv.k_group; i < MinOf(d, (g + 1) * u.kv.k_group); ++i) {
        sum += static_cast<int8_t>(s.q_codes[r * d + i]);
      }
      s.q_sums[r * groups + g] = sum;
    }
  }
}

}  // namespace
}  // namespace attend
