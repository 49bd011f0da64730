#include "attention/unit_runner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attention/state.h"

namespace attend {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

}  // namespace

UnitRunner::UnitRunner(const AttentionSchedule& schedule, const AttentionQueries& queries,
                       std::span<const KvView> caches, const AttentionOutput& output, const KernelTable& kernels,
                       const WorkspaceLayout& layout, float* workspace, int num_threads)
    : s_(schedule),
      queries_(queries),
      caches_(caches),
      output_(output),
      kernels_(kernels),
      layout_(layout),
      threads_(workspace) {
  Carver carver(workspace + layout.thread_floats * static_cast<size_t>(num_threads));
  parts_ = layout.TakeParts(carver);
}

ThreadBuffers UnitRunner::BuffersOf(int thread) const {
  Carver carver(threads_ + layout_.thread_floats * static_cast<size_t>(thread));
  return layout_.TakeThread(carver);
}

ObserveArgs UnitRunner::ObserveTo(const AttentionUnit& unit, const ThreadBuffers& b) const {
  if (!layout_.observed) return {};
  const ObservedWidth width = ObservedWidth::Of(unit.keys, layout_.wants.cell_keys);
  const bool part = unit.partial >= 0;
  return {.wants_rows = layout_.wants.rows,
          .rows = part ? parts_.sums + unit.partial : b.sums,
          .num_first_keys = layout_.wants.num_first_keys,
          .num_near_keys = layout_.wants.num_near_keys,
          .near_begin = b.near_begin,
          .cell_keys = layout_.wants.cell_keys,
          .cells = !layout_.wants.cells ? nullptr
                   : part               ? parts_.cells + unit.partial * layout_.widest_part.cells
                                        : b.cells,
          .cell_stride = part ? layout_.widest_part.cells : width.cells,
          .tile_maximum = b.tile_maximum,
          .tile_stride = width.tiles};
}

void UnitRunner::RunUnit(const AttentionUnit& unit, int thread) {
  const ThreadBuffers b = BuffersOf(thread);
  const KvView& cache = caches_[unit.sequence];
  const bool part = unit.partial >= 0;
  const int64_t num_rows = unit.rows.end - unit.rows.begin;
  for (int64_t r = 0; r < num_rows; ++r) {
    const int64_t row = unit.rows.begin + r;
    b.rows.Fill(r, s_, queries_, cache, kernels_, unit.sequence, row / s_.group_size, HeadOf(unit, row));
    if (layout_.observed) b.near_begin[r] = b.rows.position[r] + 1 - layout_.wants.num_near_keys;
  }
  const UnitMask mask = {&s_.masks[unit.sequence], s_.group_size, unit.rows, unit.keys};
  AttendArgs args = AttendArgsOf(s_, cache, unit.sequence, unit.kv_head, b.rows, num_rows, mask, kernels_);
  float* const out = args.out = part ? parts_.out + unit.partial * cache.v_width : b.out;
  float* const lse = args.lse = part ? parts_.lse + unit.partial : b.lse;
  args.scratch = b.scratch;
  args.observe = ObserveTo(unit, b);
  kernels_.attend(args);
  if (part) return;
  for (int64_t r = 0; r < num_rows; ++r) {
    const float factor = StoreRow(unit, unit.rows.begin + r, out + r * cache.v_width, lse[r]);
    if (!layout_.observed) continue;
    b.statistics[r] = StatisticsOf(unit, unit.rows.begin + r, b.sums[r], lse[r], factor);
    float* cells = b.cells + r * args.observe.cell_stride;
    for (int64_t i = 0; factor != 1.0f && layout_.wants.cells && i < args.observe.cell_stride; ++i) cells[i] *= factor;
  }
  if (layout_.observed) Report(unit, b, args.observe.cell_stride);
}

float UnitRunner::StoreRow(const AttentionUnit& unit, int64_t row, float* out, float lse) const {
  const int64_t token = s_.q_begins[unit.sequence] + row / s_.group_size;
  const int64_t head = HeadOf(unit, row);
  float factor = 1.0f;
  if (!s_.options.sinks.empty()) {
    // The sink is one more key, without value: it enters the denominator once, after all merges.
    const float sink = s_.options.sinks[head];
    const float with_sink = MergeLse(lse, sink);
    factor = lse == kMinusInfinity ? 0.0f : std::exp(lse - with_sink);
    lse = with_sink;
  }
  const int64_t at = token * output_.stride + head * s_.v_head_dim;
  for (int64_t i = 0; factor != 1.0f && i < s_.v_head_dim; ++i) out[i] *= factor;
  if (output_.dtype == DType::kF32) {
    std::copy_n(out, s_.v_head_dim, static_cast<float*>(output_.out) + at);
  } else {
    kernels_.pack_bf16(out, s_.v_head_dim, static_cast<uint16_t*>(output_.out) + at);
  }
  if (output_.lse != nullptr) output_.lse[token * s_.num_q_heads + head] = lse;
  return factor;
}

RowStatistics UnitRunner::StatisticsOf(const AttentionUnit& unit, int64_t row, const RowSums& sums, float lse,
                                       float factor) const {
  const int64_t head = HeadOf(unit, row);
  RowStatistics statistics = {.lse = lse,
                              .largest_weight = factor * sums.largest_weight,
                              .largest_key = sums.largest_key,
                              .entropy = sums.entropy,
                              .first_mass = factor * sums.first_keys,
                              .near_mass = factor * sums.near_keys,
                              .mean_distance = 0};
  if (sums.largest_key >= 0) {
    const auto position = static_cast<float>(s_.masks[unit.sequence].PositionOf(row / s_.group_size));
    statistics.mean_distance = factor * (position - sums.mean_key);
  }
  if (!s_.options.sinks.empty()) {
    statistics.lse = MergeLse(lse, s_.options.sinks[head]);
    statistics.entropy = factor > 0 ? factor * (sums.entropy - std::log(factor)) : 0.0f;
  }
  return statistics;
}

void UnitRunner::Report(const AttentionUnit& unit, const ThreadBuffers& b, int64_t cell_stride) const {
  const int64_t per_tile = kMaskTile / layout_.wants.cell_keys, first_tile = unit.keys.begin / kMaskTile;
  const int64_t tiles = unit.keys.end <= unit.keys.begin ? 0 : (unit.keys.end - 1) / kMaskTile - first_tile + 1;
  output_.observer->OnRows({.sequence = unit.sequence,
                            .kv_head = unit.kv_head,
                            .group_size = s_.group_size,
                            .rows = unit.rows,
                            .statistics = {b.statistics, static_cast<size_t>(unit.rows.end - unit.rows.begin)},
                            .cells = layout_.wants.cells ? b.cells : nullptr,
                            .cell_keys = layout_.wants.cell_keys,
                            .cell_stride = cell_stride,
                            .first_cell = first_tile * per_tile,
                            .num_cells = tiles * per_tile});
}

}  // namespace attend
