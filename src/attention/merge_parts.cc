// The end of units whose keys were split: their states are merged in the order of their keys.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attention/state.h"
#include "attention/unit_runner.h"

namespace attend {
namespace {

constexpr float kClearly = 1.0f + 0x1p-19f;

}  // namespace

void UnitRunner::RunMerge(const AttentionMerge& merge, int thread) {
  const ThreadBuffers b = BuffersOf(thread);
  const int64_t width = caches_[merge.unit.sequence].v_width, rows = merge.unit.rows.end - merge.unit.rows.begin;
  std::vector<AttentionState> states(static_cast<size_t>(merge.num_parts));
  for (int64_t r = 0; r < rows; ++r) {
    const auto row_of_part = [&](int64_t part) { return merge.first_partial + part * rows + r; };
    for (int64_t part = 0; part < merge.num_parts; ++part) {
      states[part] = {parts_.out + row_of_part(part) * width, parts_.lse[row_of_part(part)]};
    }
    const float lse = MergeStates(states, width, b.out);
    AttentionUnit one = merge.unit;
    one.rows = {merge.unit.rows.begin + r, merge.unit.rows.begin + r + 1};
    const float factor = StoreRow(one, one.rows.begin, b.out, lse);
    if (!layout_.observed) continue;
    const ObservedWidth all = ObservedWidth::Of(merge.unit.keys, layout_.wants.cell_keys);
    const RowSums total = MergeObserved(merge, r, lse, factor, b.cells, all.cells);
    b.statistics[0] = StatisticsOf(one, one.rows.begin, total, lse, factor);
    Report(one, b, all.cells);
  }
}

// Weights of a part are relative to its own sum: they shrink by exp(lse of the part - lse).
RowSums UnitRunner::MergeObserved(const AttentionMerge& merge, int64_t r, float lse, float factor, float* cells,
                                  int64_t num_cells) const {
  const int64_t rows = merge.unit.rows.end - merge.unit.rows.begin;
  const int64_t cells_of_part = merge.keys_of_part / layout_.wants.cell_keys;
  if (layout_.wants.cells) std::fill(cells, cells + num_cells, 0.0f);
  RowSums total = {0, -1, 0, 0, 0, 0};
  for (int64_t part = 0; part < merge.num_parts; ++part) {
    const int64_t row = merge.first_partial + part * rows + r;
    if (parts_.lse[row] == -std::numeric_limits<float>::infinity()) continue;
    const float share = std::exp(parts_.lse[row] - lse);
    const RowSums& p = parts_.sums[row];
    // The shares of equal weights differ by rounding: a later part must be clearly larger.
    if (!(share * p.largest_weight <= total.largest_weight * kClearly)) {
      total.largest_weight = share * p.largest_weight;
      total.largest_key = p.largest_key;
    }
    total.entropy += share * (p.entropy + (lse - parts_.lse[row]));
    total.mean_key += share * p.mean_key;
    total.first_keys += share * p.first_keys;
    total.near_keys += share * p.near_keys;
    if (!layout_.wants.cells) continue;
    const float* from = parts_.cells + row * layout_.widest_part.cells;
    const int64_t first = part * cells_of_part;
    for (int64_t i = 0; i < std::min(cells_of_part, num_cells - first); ++i)
      cells[first + i] = share * factor * from[i];
  }
  return total;
}

}  // namespace attend
