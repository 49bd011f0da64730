// Statistics of a row that ride along with its softmax: entropy, mean key, largest weight, mass on the first and the
// near keys, and the mass of each cell of keys. Meanings: attention/observer.h.
#pragma once

#include "kernels/isa/tile_output.h"

namespace attend {
namespace {

inline constexpr float kColumnNumbers[kPanelColumns] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                                        32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                                        48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

// What is observed: template arguments, so that what is not costs nothing.
inline constexpr int kNothing = 0, kRows = 1, kCells = 2;

// What a tile adds to a row, in lanes.
template <class V>
struct TileRowSums {
  typename V::F weights;
  typename V::F exponents;  // sum p log2 p, relative to the maximum
  typename V::F columns;    // sum p column
};

inline int64_t TileSlot(const AttendArgs& u, int64_t tile) {
  return tile - u.key_begin / kPanelColumns;
}

// Sums of 16 keys into the cells of a tile, and the maximum that they are relative to.
inline void StoreCells(const ObserveArgs& o, int64_t row, int64_t slot, const float* sums_of_16, float maximum) {
  o.tile_maximum[row * o.tile_stride + slot] = maximum;
  float* cells = o.cells + row * o.cell_stride + slot * (kPanelColumns / o.cell_keys);
  const float low = sums_of_16[0] + sums_of_16[1], high = sums_of_16[2] + sums_of_16[3];
  if (o.cell_keys == 16) {
    for (int i = 0; i < 4; ++i) cells[i] = sums_of_16[i];
  } else if (o.cell_keys == 32) {
    cells[0] = low;
    cells[1] = high;
  } else {
    cells[0] = low + high;
  }
}

inline int64_t FirstEqual(const float* x, float value) {
  int64_t c = 0;
  while (c < kPanelColumns - 1 && x[c] != value) ++c;
  return c;
}

template <class V>
void RescaleObserved(const UnitScratch& s, int64_t row, float step, float shrink) {
  const typename V::F by = V::Set1(shrink), moved = V::Set1(shrink == 0 ? 0.0f : step);
  float* exponents = s.exponent_sum + row * kSumLanes;
  float* columns = s.column_sum + row * kSumLanes;
  // Every exponent falls by the step: sum p (e + step) = sum p e + step sum p.
  V::Store(exponents, V::Mul(V::Fma(V::Load(s.sum + row * kSumLanes), moved, V::Load(exponents)), by));
  V::Store(columns, V::Mul(V::Load(columns), by));
  s.first_keys[row] *= shrink;
  s.near_keys[row] *= shrink;
}

// Weight of the row on keys [begin, end) that lie in the tile just done.
template <class V>
float WeightOfKeys(const AttendArgs& u, const UnitScratch& s, const Tile& t, int64_t row, int64_t begin, int64_t end,
                   typename V::F all) {
  const int64_t first_key = t.index * kPanelColumns;
  const int64_t low = MaxOf(begin - first_key, 0), high = MinOf(end - first_key, t.columns);
  if (low >= high) return 0;
  if (low == 0 && high == t.columns) return V::ReduceAdd(all);
  if (PacksWeights<V>(u)) {
    float sum = 0;
    for (int64_t c = low; c < high; ++c) sum += WeightOf<V>(u, s, row, c);
    return sum;
  }
  const uint64_t keys = (~uint64_t{0} >> (kPanelColumns - (high - low))) << low;
  typename V::F sum = V::Zero();
  for (int64_t c = 0; c < t.columns; c += V::kLanes) {
    const typename V::F p = V::Load(s.scores + row * kPanelColumns + c);
    sum = V::Add(sum, V::ZeroUnless(p, static_cast<uint32_t>(keys >> c)));
  }
  return V::ReduceAdd(sum);
}

template <class V>
void ObserveTile(const AttendArgs& u, const UnitScratch& s, const Tile& t, int64_t row, const TileRowSums<V>& sums) {
  const ObserveArgs& o = u.observe;
  float* exponents = s.exponent_sum + row * kSumLanes;
  float* columns = s.column_sum + row * kSumLanes;
  V::Store(exponents, V::Add(V::Load(exponents), sums.exponents));
  const typename V::F base = V::Set1(static_cast<float>(TileSlot(u, t.index) * kPanelColumns));
  V::Store(columns, V::Add(V::Load(columns), V::Fma(sums.weights, base, sums.columns)));
  const int64_t first_key = t.index * kPanelColumns, near = o.near_begin[row], near_end = near + o.num_near_keys;
  if (first_key < o.num_first_keys) {
    s.first_keys[row] += WeightOfKeys<V>(u, s, t, row, 0, o.num_first_keys, sums.weights);
  }
  if (near < first_key + kPanelColumns && first_key < near_end) {
    s.near_keys[row] += WeightOfKeys<V>(u, s, t, row, near, near_end, sums.weights);
  }
}

template <class V>
void BeginObserving(const AttendArgs& u, const UnitScratch& s) {
  const ObserveArgs& o = u.observe;
  for (int64_t r = 0; r < u.rows; ++r) {
    s.first_keys[r] = s.near_keys[r] = 0;
    s.largest_key[r] = -1;
    for (int64_t i = 0; i < kSumLanes; ++i) s.exponent_sum[r * kSumLanes + i] = s.column_sum[r * kSumLanes + i] = 0;
  }
  if (o.cells == nullptr) return;
  for (int64_t i = 0; i < u.rows * o.cell_stride; i += V::kLanes) V::Store(o.cells + i, V::Zero());
  for (int64_t i = 0; i < u.rows * o.tile_stride; i += V::kLanes) V::Store(o.tile_maximum + i, V::Set1(kMinusInfinity));
}

template <int kCellsOfTile>
void ScaleCells(const float* tiles, int64_t num_tiles, float* cells) {
  for (int64_t tile = 0; tile < num_tiles; ++tile) {
    for (int i = 0; i < kCellsOfTile; ++i) cells[tile * kCellsOfTile + i] *= tiles[tile];
  }
}

template <class V>
void FinishRow(const AttendArgs& u, const UnitScratch& s, int64_t row, float sum) {
  const float exponents = V::ReduceAdd(V::Load(s.exponent_sum + row * kSumLanes));
  const float columns = V::ReduceAdd(V::Load(s.column_sum + row * kSumLanes));
  const int64_t first_tile_key = u.key_begin / kPanelColumns * kPanelColumns;
  u.observe.rows[row] = {.largest_weight = 1.0f / sum,
                         .largest_key = s.largest_key[row],
                         .entropy = static_cast<float>(__builtin_log(sum) - 0.693147180559945309 * exponents / sum),
                         .mean_key = static_cast<float>(first_tile_key) + columns / sum,
                         .first_keys = s.first_keys[row] / sum,
                         .near_keys = s.near_keys[row] / sum};
}

template <class V>
void FinishCells(const AttendArgs& u, const UnitScratch& s, int64_t row, float sum) {
  const ObserveArgs& o = u.observe;
  // Each tile's mass was summed relative to the maximum of its time.
  const typename V::F maximum = V::Set1(s.maximum[row]), factor = V::Set1(ScaleLeft(u, row) * kLog2E);
  const int64_t cells_a_tile = kPanelColumns / o.cell_keys;
  float* tiles = o.tile_maximum + row * o.tile_stride;
  float* cells = o.cells + row * o.cell_stride;
  for (int64_t i = 0; i < o.tile_stride; i += V::kLanes) {
    const typename V::F weight = Exp2OfNegative<V>(V::Mul(V::Sub(V::Load(tiles + i), maximum), factor));
    V::Store(tiles + i, V::Div(weight, V::Set1(sum)));
  }
  const int64_t num_tiles = MinOf(o.tile_stride, o.cell_stride / cells_a_tile);
  switch (cells_a_tile) {
    case 1:
      return ScaleCells<1>(tiles, num_tiles, cells);
    case 2:
      return ScaleCells<2>(tiles, num_tiles, cells);
    default:
      return ScaleCells<4>(tiles, num_tiles, cells);
  }
}

// Turns a row's sums into statistics; `sum` is its denominator, 0 when it saw nothing.
template <class V>
void FinishObserving(const AttendArgs& u, const UnitScratch& s, int64_t row, float sum) {
  const ObserveArgs& o = u.observe;
  o.rows[row] = {0, -1, 0, 0, 0, 0};
  if (sum == 0.0f) return;
  if (o.wants_rows) FinishRow<V>(u, s, row, sum);
  if (o.cells != nullptr) FinishCells<V>(u, s, row, sum);
}

}  // namespace
}  // namespace attend
