#include "attention/workspace_layout.h"

#include <algorithm>

namespace attend {

ObservedWidth ObservedWidth::Of(KeyRange keys, int64_t cell_keys) {
  const auto vectors = [](int64_t n) { return (n + 15) / 16 * 16; };
  const int64_t tiles = keys.end <= keys.begin ? 0 : (keys.end - 1) / kMaskTile - keys.begin / kMaskTile + 1;
  return {vectors(tiles), vectors(tiles * (kMaskTile / cell_keys))};
}

ThreadBuffers WorkspaceLayout::TakeThread(Carver& c) const {
  ThreadBuffers b = {};
  b.rows.q = c.Take<float>(most_rows * k_dim);
  b.rows.scale = c.Take<float>(most_rows);
  b.rows.slope = c.Take<float>(most_rows);
  b.rows.bias = c.Take<const uint8_t*>(most_rows);
  b.rows.position = c.Take<int64_t>(most_rows);
  b.out = c.Take<float>(most_rows * v_width);
  b.lse = c.Take<float>(most_rows);
  b.scratch = c.Take<float>(AttendScratchFloats(most_rows, k_dim, v_width));
  if (!observed) return b;
  b.near_begin = c.Take<int64_t>(most_rows);
  if (wants.cells) {
    b.tile_maximum = c.Take<float>(most_rows * std::max(widest.tiles, widest_part.tiles));
    b.cells = c.Take<float>(most_rows * widest.cells);
  }
  b.sums = c.Take<RowSums>(most_rows);
  b.statistics = c.Take<RowStatistics>(most_rows);
  return b;
}

PartBuffers WorkspaceLayout::TakeParts(Carver& c) const {
  PartBuffers b = {};
  b.out = c.Take<float>(partial_rows * v_width);
  b.lse = c.Take<float>(partial_rows);
  if (!observed) return b;
  b.sums = c.Take<RowSums>(partial_rows);
  if (wants.cells) b.cells = c.Take<float>(partial_rows * widest_part.cells);
  return b;
}

WorkspaceLayout WorkspaceLayout::Of(const AttentionSchedule& s, std::span<const KvView> caches,
                                    const AttentionObserver* observer) {
  WorkspaceLayout l;
  l.observed = observer != nullptr;
  if (l.observed) l.wants = observer->wants();
  for (const KvView& cache : caches) {
    l.k_dim = std::max(l.k_dim, cache.k_dim);
    l.v_width = std::max(l.v_width, cache.v_width);
  }
  const auto widen = [&](ObservedWidth& most, KeyRange keys) {
    const ObservedWidth width = ObservedWidth::Of(keys, l.wants.cell_keys);
    most = {std::max(most.tiles, width.tiles), std::max(most.cells, width.cells)};
  };
  for (const AttentionUnit& unit : s.units) {
    l.most_rows = std::max(l.most_rows, unit.rows.end - unit.rows.begin);
    if (l.observed) widen(unit.partial < 0 ? l.widest : l.widest_part, unit.keys);
  }
  for (const AttentionMerge& merge : s.merges) {  // one merged row at a time lies in a thread's cells
    if (l.observed) widen(l.widest, merge.unit.keys);
  }
  l.partial_rows = s.num_partial_rows;
  Carver thread(nullptr), parts(nullptr);
  l.TakeThread(thread);
  l.TakeParts(parts);
  l.thread_floats = thread.used();
  l.part_floats = parts.used();
  return l;
}

}  // namespace attend
