// The matmul of activations with one packed weight panel (kernels/panel.h), for every panel kind.
#pragma once

#include "kernels/isa/matmul_body.h"

namespace attend {
namespace {

struct BlockView {
  const uint8_t* cells;
  const uint16_t* scale;    // half [64]
  const uint16_t* minimum;  // half [64], null when there is none
};

inline BlockView BlockOf(const PanelView& w, const uint8_t* panel, int64_t block) {
  const int64_t cell_bytes = w.kind == PanelKind::kQ4 ? 16 * kPanelColumns : 32 * kPanelColumns;
  const int64_t scale_bytes = 2 * kPanelColumns;
  const uint8_t* cells = panel + block * (cell_bytes + scale_bytes * (w.has_minimum ? 2 : 1));
  const uint8_t* scale = cells + cell_bytes;
  return {cells, reinterpret_cast<const uint16_t*>(scale),
          w.has_minimum ? reinterpret_cast<const uint16_t*>(scale + scale_bytes) : nullptr};
}

// Value of (input, column vector n) in a quantised block, before its scale.
template <class V>
struct Q4Cells {
  typename V::NibbleTable table;
  explicit Q4Cells(const PanelView& w) : table(V::MakeNibbleTable(w.offset)) {}
  typename V::F Load(const uint8_t* cells, int group, int i, int n) const {
    return V::Nibble(V::LoadNibbles(cells + 4 * (group * kPanelColumns + n * V::kLanes)), i, table);
  }
};
template <class V>
struct Q8Cells {
  explicit Q8Cells(const PanelView&) {}
  typename V::F Load(const uint8_t* cells, int group, int i, int n) const {
    return V::LoadInt8(reinterpret_cast<const int8_t*>(cells) + (8 * group + i) * kPanelColumns + n * V::kLanes);
  }
};

// Few rows: reads the packed weights once, keeps kRows x kVectors sums of the block and of the whole in registers.
template <class V, class Cells, int kRows, int kVectors>
void DirectQuantised(const MatmulArgs& m, const uint8_t* panel, int first_vector) {
  const Cells cells(m.weights);
  typename V::F total[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int n = 0; n < kVectors; ++n) {
      const float* old = m.out + r * m.out_stride + (first_vector + n) * V::kLanes;
      total[r][n] = m.accumulate ? V::Load(old) : V::Zero();
    }
  }
  const int64_t blocks = m.weights.num_inputs / kBlockInputs;
  for (int64_t block = 0; block < blocks; ++block) {
    const BlockView view = BlockOf(m.weights, panel, block);
    const float* a = m.a + block * kBlockInputs;
    typename V::F sum[kRows][kVectors];
    for (int r = 0; r < kRows; ++r) {
      for (int n = 0; n < kVectors; ++n) sum[r][n] = V::Zero();
    }
    for (int group = 0; group < 4; ++group) {
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) {
#pragma GCC unroll 8
        for (int n = 0; n < kVectors; ++n) {
          const typename V::F w = cells.Load(view.cells, group, i, first_vector + n);
#pragma GCC unroll 8
          for (int r = 0; r < kRows; ++r) sum[r][n] = V::Fma(V::Set1(a[r * m.a_stride + 8 * group + i]), w, sum[r][n]);
        }
      }
    }
    for (int r = 0; r < kRows; ++r) {
      typename V::F input_sum = V::Zero();
      if (view.minimum != nullptr) {
        for (int i = 0; i < kBlockInputs; i += V::kLanes)
          input_sum = V::Add(input_sum, V::Load(a + r * m.a_stride + i));
        input_sum = V::Set1(V::ReduceAdd(input_sum));
      }
      for (int n = 0; n < kVectors; ++n) {
        const int column = (first_vector + n) * V::kLanes;
        total[r][n] = V::Fma(sum[r][n], V::LoadF16(view.scale + column), total[r][n]);
        if (view.minimum != nullptr) total[r][n] = V::Fma(input_sum, V::LoadF16(view.minimum + column), total[r][n]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int n = 0; n < kVectors; ++n) V::Store(m.out + r * m.out_stride + (first_vector + n) * V::kLanes, total[r][n]);
  }
}

template <class V, class Cells>
void DirectQuantisedRows(const MatmulArgs& m, const uint8_t* panel) {
  constexpr int kVectors = kPanelColumns / V::kLanes;
  for (int first = 0; first < kVectors; first += V::kTileVectors) {
    switch (m.rows) {
      case 1:
        DirectQuantised<V, Cells, 1, V::kTileVectors>(m, panel, first);
        break;
      case 2:
        DirectQuantised<V, Cells, 2, V::kTileVectors>(m, panel, first);
        break;
      case 3:
        DirectQuantised<V, Cells, 3, V::kTileVectors>(m, panel, first);
        break;
      case 4:
        DirectQuantised<V, Cells, 4, V::kTileVectors>(m, panel, first);
        break;
      default:
        break;
    }
  }
}

// Inputs [begin, begin + count) of a panel as floats [count][64], scales applied.
template <class V, class Cells>
void UnpackQuantised(const PanelView& w, const uint8_t* panel, int64_t begin, int64_t count, float* out) {
  const Cells cells(w);
  for (int64_t block = begin / kBlockInputs; block < (begin + count) / kBlockInputs; ++block) {
    const BlockView view = BlockOf(w, panel, block);
    for (int n = 0; n < kPanelColumns / V::kLanes; ++n) {
      const typename V::F scale = V::LoadF16(view.scale + n * V::kLanes);
      const typename V::F minimum = view.minimum != nullptr ? V::LoadF16(view.minimum + n * V::kLanes) : V::Zero();
      for (int group = 0; group < 4; ++group) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) {
          V::Store(out + (8 * group + i) * kPanelColumns + n * V::kLanes,
                   V::Fma(cells.Load(view.cells, group, i, n), scale, minimum));
        }
      }
    }
    out += kBlockInputs * kPanelColumns;
  }
}

template <class V>
void UnpackHalves(const uint16_t* in, int64_t stride, int64_t columns, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t c = 0; c < columns; c += V::kLanes) V::Store(out + i * stride + c, V::LoadF16(in + i * stride + c));
  }
}

// bf16 pairs [count/2][stride][2] to floats [count][stride].
template <class V>
void UnpackPairs(const uint16_t* pairs, int64_t stride, int64_t columns, int64_t count, float* out) {
  for (int64_t i = 0; i < count; i += 2) {
    for (int64_t n = 0; n < columns; n += V::kLanes) {
      const uint16_t* in = pairs + i * stride + 2 * n;
      V::Store(out + i * stride + n, V::EvenBf16(in));
      V::Store(out + (i + 1) * stride + n, V::OddBf16(in));
    }
  }
}

template <class V>
void UnpackInputs(const PanelView& w, const uint8_t* panel, int64_t begin, int64_t count, float* out) {
  switch (w.kind) {
    case PanelKind::kQ4:
      return UnpackQuantised<V, Q4Cells<V>>(w, panel, begin, count, out);
    case PanelKind::kQ8:
      return UnpackQuantised<V, Q8Cells<V>>(w, panel, begin, count, out);
    case PanelKind::kF16:
      return UnpackHalves<V>(reinterpret_cast<const uint16_t*>(panel) + begin * kPanelColumns, kPanelColumns,
                             kPanelColumns, count, out);
    default:
      return;
  }
}

// Class bf16 with the dot product: integers of a block are exact in bf16; scale and minimum meet the block's float sum.
template <class V, class Cells>
void DotQuantised(const MatmulArgs& m, const uint8_t* panel) {
  constexpr int kVectors = kPanelColumns / V::kLanes;
  const Cells cells(m.weights);
  uint16_t* pairs = reinterpret_cast<uint16_t*>(m.scratch);     // [16][64][2]
  float* scale = m.scratch + kBlockInputs * kPanelColumns / 2;  // [64]
  float* minimum = scale + kPanelColumns;                       // [64]
  float* sums = minimum + kPanelColumns;                        // [kRegisterRows][64]
  for (int64_t block = 0; block < m.weights.num_inputs / kBlockInputs; ++block) {
    const BlockView view = BlockOf(m.weights, panel, block);
    for (int n = 0; n < kVectors; ++n) {
      V::Store(scale + n * V::kLanes, V::LoadF16(view.scale + n * V::kLanes));
      V::Store(minimum + n * V::kLanes, view.minimum != nullptr ? V::LoadF16(view.minimum + n * V::kLanes) : V::Zero());
      for (int i = 0; i < kBlockInputs; i += 2) {
        V::StorePair(pairs + i * kPanelColumns + 2 * n * V::kLanes, cells.Load(view.cells, i / 8, i % 8, n),
                     cells.Load(view.cells, i / 8, i % 8 + 1, n));
      }
    }
    const int64_t k = block * kBlockInputs;
    for (int64_t row = 0; row < m.rows; row += kRegisterRows) {
      const int64_t rows = MinOf(kRegisterRows, m.rows - row);
      RunRows<DotKind<V>, kVectors>(rows, m.a_bf16 + row * m.a_stride + k, m.a_stride, pairs, kPanelColumns,
                                    kBlockInputs, sums, kPanelColumns, false, 0);
      for (int64_t r = 0; r < rows; ++r) {
        const float* a = m.a + (row + r) * m.a_stride + k;
        const typename V::F input_sum = V::Set1(V::ReduceAdd(V::Add(V::Load(a), V::Load(a + V::kLanes))));
        float* out = m.out + (row + r) * m.out_stride;
        for (int n = 0; n < kVectors; ++n) {
          const int column = n * V::kLanes;
          typename V::F total = block == 0 && !m.accumulate ? V::Zero() : V::Load(out + column);
          total = V::Fma(V::Load(sums + r * kPanelColumns + column), V::Load(scale + column), total);
          V::Store(out + column, V::Fma(input_sum, V::Load(minimum + column), total));
        }
      }
    }
  }
}

template <class V>
void MatmulUnpacked(const MatmulArgs& m, const uint8_t* panel) {
  const int64_t inputs = m.weights.num_inputs;
  for (int64_t begin = 0; begin < inputs; begin += kMatmulInputsPerStep) {
    const int64_t count = MinOf(kMatmulInputsPerStep, inputs - begin);
    const float* block = m.scratch;
    if (m.weights.kind == PanelKind::kF32) {
      block = reinterpret_cast<const float*>(panel) + begin * kPanelColumns;
    } else {
      UnpackInputs<V>(m.weights, panel, begin, count, m.scratch);
    }
    Multiply<V, FloatKind<V>>(m.rows, kPanelColumns, count, m.a + begin, m.a_stride, block, kPanelColumns, m.out,
                              m.out_stride, m.accumulate || begin > 0);
  }
}

template <class V>
void Matmul(const MatmulArgs& m) {
  const PanelView& w = m.weights;
  const uint8_t* panel = w.data + m.panel * w.panel_bytes;
  const bool few = m.rows <= kDirectRows;
  if constexpr (V::kHasBf16Dot) {
    if (m.a_bf16 != nullptr && !few) {
      if (w.kind == PanelKind::kQ4) return DotQuantised<V, Q4Cells<V>>(m, panel);
      if (w.kind == PanelKind::kQ8) return DotQuantised<V, Q8Cells<V>>(m, panel);
      if (w.kind == PanelKind::kBf16) {
        return Multiply<V, DotKind<V>>(m.rows, kPanelColumns, w.num_inputs + (w.num_inputs & 1), m.a_bf16, m.a_stride,
                                       reinterpret_cast<const uint16_t*>(panel), kPanelColumns, m.out, m.out_stride,
                                       m.accumulate);
      }
    }
  }
  if (w.kind == PanelKind::kBf16) {
    return Multiply<V, PairKind<V>>(m.rows, kPanelColumns, w.num_inputs + (w.num_inputs & 1), m.a, m.a_stride,
                                    reinterpret_cast<const uint16_t*>(panel), kPanelColumns, m.out, m.out_stride,
                                    m.accumulate);
  }
  if (few && w.kind == PanelKind::kQ4) return DirectQuantisedRows<V, Q4Cells<V>>(m, panel);
  if (few && w.kind == PanelKind::kQ8) return DirectQuantisedRows<V, Q8Cells<V>>(m, panel);
  MatmulUnpacked<V>(m, panel);
}

}  // namespace
}  // namespace attend
