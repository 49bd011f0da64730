#include "attention/statistics.h"

#include <algorithm>
#include <cmath>

namespace attend {
namespace {

constexpr int64_t kMostCells = 256;
constexpr int64_t kLeastCellTokens = 16;
constexpr double kFixedPoint = 0x1p44;  // 2^19 queries a cell fit, 6e-14 is the step

}  // namespace

MapShape MapShape::For(int64_t q_len, int64_t kv_len) {
  MapShape shape{q_len, kv_len, kLeastCellTokens, 0, 0};
  while (shape.cell_tokens * kMostCells < std::max(q_len, kv_len)) shape.cell_tokens *= 2;
  shape.num_rows = (q_len + shape.cell_tokens - 1) / shape.cell_tokens;
  shape.num_columns = (kv_len + shape.cell_tokens - 1) / shape.cell_tokens;
  return shape;
}

StatisticsCollector::StatisticsCollector(int64_t num_q_heads, std::span<const int64_t> q_lens,
                                         std::span<const int64_t> kv_lens, const Options& options)
    : num_q_heads_(num_q_heads), options_(options), sequences_(q_lens.size()) {
  for (size_t i = 0; i < q_lens.size(); ++i) {
    Sequence& s = sequences_[i];
    s.shape = MapShape::For(q_lens[i], kv_lens[i]);
    if (options.keep_rows) s.rows.resize(static_cast<size_t>(q_lens[i] * num_q_heads));
    if (options.keep_maps) {
      s.cells = std::make_unique<std::atomic<int64_t>[]>(
          static_cast<size_t>(num_q_heads * s.shape.num_rows * s.shape.num_columns));
      cell_keys_ = std::min(cell_keys_, s.shape.cell_tokens);
    }
  }
}

ObserverWants StatisticsCollector::wants() const {
  return {options_.num_first_keys, options_.num_near_keys, cell_keys_, options_.keep_rows, options_.keep_maps};
}

void StatisticsCollector::OnRows(const ObservedRows& rows) {
  Sequence& sequence = sequences_[rows.sequence];
  if (options_.keep_rows) {
    for (int64_t row = rows.rows.begin; row < rows.rows.end; ++row) {
      const int64_t head = rows.kv_head * rows.group_size + row % rows.group_size;
      sequence.rows[row / rows.group_size * num_q_heads_ + head] = rows.statistics[row - rows.rows.begin];
    }
  }
  if (options_.keep_maps) AddToMap(rows, sequence);
}

// Adds up the rows of a unit that fall into one row of cells before the shared map is touched.
void StatisticsCollector::AddToMap(const ObservedRows& rows, Sequence& sequence) const {
  const MapShape& shape = sequence.shape;
  if (rows.num_cells == 0) return;
  const int64_t cells_of_column = shape.cell_tokens / rows.cell_keys;
  const int64_t first = rows.first_cell / cells_of_column;
  const int64_t last = std::min(shape.num_columns, (rows.first_cell + rows.num_cells - 1) / cells_of_column + 1);
  std::vector<float> mass(static_cast<size_t>(rows.num_cells));
  for (int64_t in_group = 0; in_group < rows.group_size; ++in_group) {
    int64_t row = rows.rows.begin + (in_group - rows.rows.begin % rows.group_size + rows.group_size) % rows.group_size;
    const int64_t head = rows.kv_head * rows.group_size + in_group;
    while (row < rows.rows.end) {
      const int64_t map_row = row / rows.group_size / shape.cell_tokens;
      std::fill(mass.begin(), mass.end(), 0.0f);
      for (; row < rows.rows.end && row / rows.group_size / shape.cell_tokens == map_row; row += rows.group_size) {
        const float* cells = rows.cells + (row - rows.rows.begin) * rows.cell_stride;
        if (std::isnan(rows.statistics[row - rows.rows.begin].lse)) continue;  // it has no mass that could be added
        for (int64_t i = 0; i < rows.num_cells; ++i) mass[i] += cells[i];
      }
      std::atomic<int64_t>* to = sequence.cells.get() + (head * shape.num_rows + map_row) * shape.num_columns;
      for (int64_t column = first; column < last; ++column) {
        double sum = 0;
        for (int64_t cell = column * cells_of_column; cell < (column + 1) * cells_of_column; ++cell) {
          if (cell >= rows.first_cell && cell < rows.first_cell + rows.num_cells) sum += mass[cell - rows.first_cell];
        }
        if (sum > 0) to[column].fetch_add(static_cast<int64_t>(sum * kFixedPoint + 0.5), std::memory_order_relaxed);
      }
    }
  }
}

std::vector<double> StatisticsCollector::Map(int64_t sequence, int64_t head) const {
  const Sequence& s = sequences_[sequence];
  const int64_t cells = s.cells ? s.shape.num_rows * s.shape.num_columns : 0;
  std::vector<double> map(static_cast<size_t>(cells));
  for (int64_t i = 0; i < cells; ++i) map[i] = static_cast<double>(s.cells[head * cells + i].load()) / kFixedPoint;
  return map;
}

uint64_t StatisticsCollector::size_bytes() const {
  uint64_t bytes = 0;
  for (const Sequence& s : sequences_) {
    bytes += s.rows.size() * sizeof(RowStatistics);
    if (s.cells) bytes += static_cast<uint64_t>(num_q_heads_ * s.shape.num_rows * s.shape.num_columns) * 8;
  }
  return bytes;
}

}  // namespace attend
