// Integer products of 8-bit activations with the 8- or 4-bit cells of a quantised tile: sums are whole numbers, exact
// and the same on every instruction set; scales meet them at the end.
#pragma once

#include "kernels/isa/cell_kinds.h"

namespace attend {
namespace {

// Cells of K (unsigned, zero at 128 or 8) against signed activations, or of V (signed) against unsigned weights.
template <class V, int kBits, bool kKeys>
struct IntCells {
  static constexpr int kWords = kBits == 8 ? 1 : 2;  // quads of inputs in a word of a column
  static constexpr int kInputs = 4 * kWords;

  static inline __attribute__((always_inline)) void Load(const uint8_t* p, typename V::I (&quads)[kWords]) {
    const typename V::I word = V::LoadWords(p);
    if constexpr (kBits == 8) {
      quads[0] = word;
    } else {
      quads[0] = V::LowNibbles(word);
      quads[1] = V::HighNibbles(word);
      if constexpr (!kKeys) {
        quads[0] = V::BytesMinus(quads[0], 8);
        quads[1] = V::BytesMinus(quads[1], 8);
      }
    }
  }
  static inline __attribute__((always_inline)) typename V::I Dot(typename V::I acc, typename V::I cells,
                                                                 typename V::I activations) {
    if constexpr (kKeys) return V::DotBytes(acc, cells, activations);
    return V::DotBytes(acc, activations, cells);
  }
};

// sums[r][n] of kRows rows and kVectors vectors of columns over `inputs` inputs; a [kRows][lda] bytes, b: the tile's
// cells with ldb columns, `ahead` as in matmul_body.h. finish(r, n, sums) takes each.
template <class V, class Cells, int kRows, int kVectors, class Finish>
void IntTile(const uint8_t* a, int64_t lda, const uint8_t* b, int64_t ldb, int64_t inputs, int64_t ahead,
             const Finish& finish) {
  typename V::I sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) sums[r][n] = V::ZeroWords();
  }
  for (int64_t i = 0; i < inputs; i += Cells::kInputs) {
    AskFor<V, true, kVectors, 4>(b + i / Cells::kInputs * 4 * ldb, ahead);
    typename V::I cells[kVectors][Cells::kWords];
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) Cells::Load(b + i / Cells::kInputs * 4 * ldb + 4 * n * V::kLanes, cells[n]);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int w = 0; w < Cells::kWords; ++w) {
        const typename V::I x = V::Set1Word(a + r * lda + i + 4 * w);
#pragma GCC unroll 8
        for (int n = 0; n < kVectors; ++n) sums[r][n] = Cells::Dot(sums[r][n], cells[n][w], x);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) finish(r, n, sums[r][n]);
  }
}

template <class V, class Cells, int kVectors, class Finish>
void IntRows(int64_t rows, const uint8_t* a, int64_t lda, const uint8_t* b, int64_t ldb, int64_t inputs, int64_t ahead,
             const Finish& finish) {
  int64_t row = 0;
  const auto at = [&](int64_t first) {
    return [&finish, first](int r, int n, typename V::I sums) { finish(first + r, n, sums); };
  };
  for (; row + 4 <= rows; row += 4) {
    IntTile<V, Cells, 4, kVectors>(a + row * lda, lda, b, ldb, inputs, ahead, at(row));
  }
  switch (rows - row) {
    case 1:
      return IntTile<V, Cells, 1, kVectors>(a + row * lda, lda, b, ldb, inputs, ahead, at(row));
    case 2:
      return IntTile<V, Cells, 2, kVectors>(a + row * lda, lda, b, ldb, inputs, ahead, at(row));
    case 3:
      return IntTile<V, Cells, 3, kVectors>(a + row * lda, lda, b, ldb, inputs, ahead, at(row));
    default:
      return;
  }
}

// finish(row, first column, sums) for every row and vector of `columns` columns (a multiple of 16).
template <class V, class Cells, class Finish>
void IntMultiply(int64_t rows, int64_t columns, const uint8_t* a, int64_t lda, const uint8_t* b, int64_t ldb,
                 int64_t inputs, int64_t ahead, const Finish& finish) {
  constexpr int64_t kTileColumns = int64_t{V::kTileVectors} * V::kLanes;
  int64_t column = 0;
  const auto at = [&](int64_t first) {
    return [&finish, first](int64_t r, int n, typename V::I sums) { finish(r, first + n * V::kLanes, sums); };
  };
  for (; column + kTileColumns <= columns; column += kTileColumns) {
    IntRows<V, Cells, V::kTileVectors>(rows, a, lda, b + 4 * column, ldb, inputs, ahead, at(column));
  }
  for (; column < columns; column += V::kLanes) {
    IntRows<V, Cells, 1>(rows, a, lda, b + 4 * column, ldb, inputs, ahead, at(column));
  }
}

// x [n] as signed codes of at most 127 with one scale; returns the scale (0 for zeros, NaN when a value is not finite).
template <class V>
float QuantiseSigned(const float* x, int64_t n, uint8_t* codes) {
  typename V::F largest = V::Zero(), bad = V::Zero();
  for (int64_t i = 0; i < n; i += V::kLanes) {
    const typename V::F value = V::Load(x + i);
    largest = V::Max(largest, V::Max(value, V::Sub(V::Zero(), value)));
    bad = V::Add(bad, V::Sub(value, value));
  }
  const float limit = V::ReduceMax(largest), nan = V::ReduceAdd(bad);
  const float inverse = limit > 0 ? 127.0f / limit : 0.0f;
  for (int64_t i = 0; i < n; i += V::kLanes) V::StoreBytes(codes + i, V::Mul(V::Load(x + i), V::Set1(inverse)));
  return limit / 127.0f + nan;
}

}  // namespace
}  // namespace attend
