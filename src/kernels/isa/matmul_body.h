// The register-tiled matmul over panels, written once for every vector type V.
//
// Register tile: 6 rows x kTileVectors vectors (AVX-512: 6 x 64, 24 accumulators and 5 registers for operands).
// Weights of fewer bits are unpacked 128 inputs at a time into a scratch panel that stays in L1 and serves every row; up to
// kDirectRows rows read the packed form directly, since then reading the weights once is all that counts.
#pragma once

#include "kernels/isa/vec_ops.h"
#include "kernels/kernel_table.h"

namespace attend {
namespace {

constexpr int kRegisterRows = 6;
constexpr int kDirectRows = 4;

// c[kRows][kVectors] (+)= a[kRows][k] b[k][..]; b holds floats, one row of ldb columns an input.
template <class V, int kRows, int kVectors>
inline __attribute__((always_inline)) void FloatTile(const float* a, int64_t lda, const float* b, int64_t ldb, int64_t k, float* c, int64_t ldc,
                                                     bool accumulate) {
  typename V::F acc[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) acc[r][n] = accumulate ? V::Load(c + r * ldc + n * V::kLanes) : V::Zero();
  }
  for (int64_t i = 0; i < k; ++i) {
    typename V::F column[kVectors];
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) column[n] = V::Load(b + i * ldb + n * V::kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const typename V::F x = V::Set1(a[r * lda + i]);
#pragma GCC unroll 8
      for (int n = 0; n < kVectors; ++n) acc[r][n] = V::Fma(x, column[n], acc[r][n]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) V::Store(c + r * ldc + n * V::kLanes, acc[r][n]);
  }
}

// The same over bf16 pairs: b is [k/2][ldb][2], a holds floats; k even.
template <class V, int kRows, int kVectors>
inline __attribute__((always_inline)) void PairTile(const float* a, int64_t lda, const uint16_t* b, int64_t ldb, int64_t k, float* c, int64_t ldc,
                                                    bool accumulate) {
  typename V::F acc[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) acc[r][n] = accumulate ? V::Load(c + r * ldc + n * V::kLanes) : V::Zero();
  }
  for (int64_t i = 0; i < k; i += 2) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) {
      const uint16_t* pairs = b + i * ldb + 2 * n * V::kLanes;
      const typename V::F even = V::EvenBf16(pairs);
      const typename V::F odd = V::OddBf16(pairs);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        acc[r][n] = V::Fma(V::Set1(a[r * lda + i]), even, acc[r][n]);
        acc[r][n] = V::Fma(V::Set1(a[r * lda + i + 1]), odd, acc[r][n]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) V::Store(c + r * ldc + n * V::kLanes, acc[r][n]);
  }
}

// Both operands bf16, by the dot-product instruction. With kScaled the sum is one block's: it is multiplied by the block's
// scale[column], the block's minimum times the row's input sum is added, and the result joins c.
template <class V, int kRows, int kVectors>
inline __attribute__((always_inline)) void DotTile(const uint16_t* a, int64_t lda, const uint16_t* b, int64_t ldb, int64_t k, float* c, int64_t ldc,
                                                   bool accumulate) {
  typename V::F acc[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) acc[r][n] = accumulate ? V::Load(c + r * ldc + n * V::kLanes) : V::Zero();
  }
  for (int64_t i = 0; i < k; i += 2) {
    typename V::Pairs column[kVectors];
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) column[n] = V::LoadPairs(b + i * ldb + 2 * n * V::kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const typename V::Pairs x = V::Set1Pair(a + r * lda + i);
#pragma GCC unroll 8
      for (int n = 0; n < kVectors; ++n) acc[r][n] = V::DotPairs(acc[r][n], x, column[n]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) V::Store(c + r * ldc + n * V::kLanes, acc[r][n]);
  }
}

// One of the three tiles for a run-time number of rows. Kind::Run<kRows, kVectors>(a + r * lda, ...).
template <class V>
struct FloatKind {
  using A = float;
  using B = float;
  static constexpr int kCells = 1;  // elements of b a column and input row
  template <int kRows, int kVectors>
  static void Run(const A* a, int64_t lda, const B* b, int64_t ldb, int64_t k, float* c, int64_t ldc, bool accumulate) {
    FloatTile<V, kRows, kVectors>(a, lda, b, ldb, k, c, ldc, accumulate);
  }
};
template <class V>
struct PairKind {
  using A = float;
  using B = uint16_t;
  static constexpr int kCells = 2;
  template <int kRows, int kVectors>
  static void Run(const A* a, int64_t lda, const B* b, int64_t ldb, int64_t k, float* c, int64_t ldc, bool accumulate) {
    PairTile<V, kRows, kVectors>(a, lda, b, ldb, k, c, ldc, accumulate);
  }
};
template <class V>
struct DotKind {
  using A = uint16_t;
  using B = uint16_t;
  static constexpr int kCells = 2;
  template <int kRows, int kVectors>
  static void Run(const A* a, int64_t lda, const B* b, int64_t ldb, int64_t k, float* c, int64_t ldc, bool accumulate) {
    DotTile<V, kRows, kVectors>(a, lda, b, ldb, k, c, ldc, accumulate);
  }
};

template <class Kind, int kVectors>
void RunRows(int64_t rows, const typename Kind::A* a, int64_t lda, const typename Kind::B* b, int64_t ldb, int64_t k, float* c,
             int64_t ldc, bool accumulate) {
  for (; rows >= kRegisterRows; rows -= kRegisterRows, a += kRegisterRows * lda, c += kRegisterRows * ldc) {
    Kind::template Run<kRegisterRows, kVectors>(a, lda, b, ldb, k, c, ldc, accumulate);
  }
  switch (rows) {
    case 1: return Kind::template Run<1, kVectors>(a, lda, b, ldb, k, c, ldc, accumulate);
    case 2: return Kind::template Run<2, kVectors>(a, lda, b, ldb, k, c, ldc, accumulate);
    case 3: return Kind::template Run<3, kVectors>(a, lda, b, ldb, k, c, ldc, accumulate);
    case 4: return Kind::template Run<4, kVectors>(a, lda, b, ldb, k, c, ldc, accumulate);
    case 5: return Kind::template Run<5, kVectors>(a, lda, b, ldb, k, c, ldc, accumulate);
    default: return;
  }
}

// c[rows][columns] (+)= a b for any rows and k; columns a multiple of 16.
template <class V, class Kind>
void Multiply(int64_t rows, int64_t columns, int64_t k, const typename Kind::A* a, int64_t lda, const typename Kind::B* b,
              int64_t ldb, float* c, int64_t ldc, bool accumulate) {
  constexpr int64_t kTileColumns = int64_t{V::kTileVectors} * V::kLanes;
  for (; columns >= kTileColumns; columns -= kTileColumns, b += Kind::kCells * kTileColumns, c += kTileColumns) {
    RunRows<Kind, V::kTileVectors>(rows, a, lda, b, ldb, k, c, ldc, accumulate);
  }
  if constexpr (kTileColumns > 16) {
    switch (columns / V::kLanes) {
      case 1: return RunRows<Kind, 1>(rows, a, lda, b, ldb, k, c, ldc, accumulate);
      case 2: return RunRows<Kind, 2>(rows, a, lda, b, ldb, k, c, ldc, accumulate);
      case 3: return RunRows<Kind, 3>(rows, a, lda, b, ldb, k, c, ldc, accumulate);
      default: return;
    }
  }
}

}  // namespace
}  // namespace attend
