// The register-tiled matmul over panels, written once for every vector type V.
//
// Register tile: 6 rows x kTileVectors vectors (AVX-512: 6 x 64, 24 accumulators and 5 registers for operands).
// Weights of fewer bits are unpacked 128 inputs at a time into a scratch panel that stays in L1 and serves every row;
// up to kDirectRows rows read the packed form directly, since then reading the weights once is all that counts.
#pragma once

#include "kernels/isa/vec_ops.h"
#include "kernels/kernel_table.h"

namespace attend {
namespace {

inline constexpr int kRegisterRows = 6;
inline constexpr int kDirectRows = 4;

// The sums of a register tile. Always inlined: they never leave the registers.
template <class V, int kRows, int kVectors>
struct TileSums {
  typename V::F at[kRows][kVectors];

  inline __attribute__((always_inline)) TileSums(const float* c, int64_t ldc, bool accumulate) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int n = 0; n < kVectors; ++n) at[r][n] = accumulate ? V::Load(c + r * ldc + n * V::kLanes) : V::Zero();
    }
  }
  inline __attribute__((always_inline)) void Store(float* c, int64_t ldc) const {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int n = 0; n < kVectors; ++n) V::Store(c + r * ldc + n * V::kLanes, at[r][n]);
    }
  }
};

// Kinds of operands. Run: c[kRows][kVectors] (+)= a[kRows][k] b[k][..] for one register tile; b has ldb columns an
// input. A streaming kind also asks for what lies `ahead` elements behind each element of b: few rows over much memory
// wait for that memory, and what is read next is known.
template <class V, bool kStreams, int kVectors, int kCells, class B>
inline __attribute__((always_inline)) void AskFor(const B* b, int64_t ahead) {
  if constexpr (kStreams) {
    constexpr int kLineElements = 64 / static_cast<int>(sizeof(B));
#pragma GCC unroll 16
    for (int i = 0; i < kVectors * V::kLanes * kCells; i += kLineElements) __builtin_prefetch(b + ahead + i, 0, 2);
  }
}

template <class V>
inline __attribute__((always_inline)) typename V::F LoadCells(const float* p) {
  return V::Load(p);
}
template <class V>
inline __attribute__((always_inline)) typename V::F LoadCells(const uint16_t* p) {
  return V::LoadF16(p);
}

// Floats times floats, or times halves read where they lie.
template <class V, class Cell, bool kStreams>
struct ColumnKind {
  using A = float;
  using B = Cell;
  static constexpr int kCells = 1;  // elements of b a column and input row

  template <int kRows, int kVectors>
  static void Run(const A* a, int64_t lda, const B* b, int64_t ldb, int64_t k, float* c, int64_t ldc, bool accumulate,
                  int64_t ahead) {
    TileSums<V, kRows, kVectors> sums(c, ldc, accumulate);
    for (int64_t i = 0; i < k; ++i) {
      AskFor<V, kStreams, kVectors, kCells>(b + i * ldb, ahead);
      typename V::F column[kVectors];
#pragma GCC unroll 8
      for (int n = 0; n < kVectors; ++n) column[n] = LoadCells<V>(b + i * ldb + n * V::kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const typename V::F x = V::Set1(a[r * lda + i]);
#pragma GCC unroll 8
        for (int n = 0; n < kVectors; ++n) sums.at[r][n] = V::Fma(x, column[n], sums.at[r][n]);
      }
    }
    sums.Store(c, ldc);
  }
};

template <class V, bool kStreams = false>
using FloatKind = ColumnKind<V, float, kStreams>;
template <class V, bool kStreams = false>
using HalfKind = ColumnKind<V, uint16_t, kStreams>;

// Floats times bf16 pairs: b is [k/2][ldb][2]; k even.
template <class V, bool kStreams = false>
struct PairKind {
  using A = float;
  using B = uint16_t;
  static constexpr int kCells = 2;

  template <int kRows, int kVectors>
  static void Run(const A* a, int64_t lda, const B* b, int64_t ldb, int64_t k, float* c, int64_t ldc, bool accumulate,
                  int64_t ahead) {
    TileSums<V, kRows, kVectors> sums(c, ldc, accumulate);
    for (int64_t i = 0; i < k; i += 2) {
      AskFor<V, kStreams, kVectors, kCells>(b + i * ldb, ahead);
      // Two vectors at a time: what they share of a is loaded once, and their halves still fit the registers.
      constexpr int kTogether = kVectors % 2 == 0 ? 2 : 1;
#pragma GCC unroll 8
      for (int first = 0; first < kVectors; first += kTogether) {
        typename V::F even[kTogether], odd[kTogether];
#pragma GCC unroll 2
        for (int n = 0; n < kTogether; ++n) {
          even[n] = V::EvenBf16(b + i * ldb + 2 * (first + n) * V::kLanes);
          odd[n] = V::OddBf16(b + i * ldb + 2 * (first + n) * V::kLanes);
        }
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          const typename V::F x = V::Set1(a[r * lda + i]), y = V::Set1(a[r * lda + i + 1]);
#pragma GCC unroll 2
          for (int n = 0; n < kTogether; ++n) {
            sums.at[r][first + n] = V::Fma(x, even[n], sums.at[r][first + n]);
            sums.at[r][first + n] = V::Fma(y, odd[n], sums.at[r][first + n]);
          }
        }
      }
    }
    sums.Store(c, ldc);
  }
};

// bf16 pairs times bf16 pairs, by the dot-product instruction; k even.
template <class V, bool kStreams = false>
struct DotKind {
  using A = uint16_t;
  using B = uint16_t;
  static constexpr int kCells = 2;

  template <int kRows, int kVectors>
  static void Run(const A* a, int64_t lda, const B* b, int64_t ldb, int64_t k, float* c, int64_t ldc, bool accumulate,
                  int64_t ahead) {
    TileSums<V, kRows, kVectors> sums(c, ldc, accumulate);
    for (int64_t i = 0; i < k; i += 2) {
      AskFor<V, kStreams, kVectors, kCells>(b + i * ldb, ahead);
      typename V::Pairs column[kVectors];
#pragma GCC unroll 8
      for (int n = 0; n < kVectors; ++n) column[n] = V::LoadPairs(b + i * ldb + 2 * n * V::kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const typename V::Pairs x = V::Set1Pair(a + r * lda + i);
#pragma GCC unroll 8
        for (int n = 0; n < kVectors; ++n) sums.at[r][n] = V::DotPairs(sums.at[r][n], x, column[n]);
      }
    }
    sums.Store(c, ldc);
  }
};

// Any number of rows, as full register tiles and one smaller.
template <class Kind, int kVectors>
void RunRows(int64_t rows, const typename Kind::A* a, int64_t lda, const typename Kind::B* b, int64_t ldb, int64_t k,
             float* c, int64_t ldc, bool accumulate, int64_t ahead) {
  for (; rows >= kRegisterRows; rows -= kRegisterRows, a += kRegisterRows * lda, c += kRegisterRows * ldc) {
    Kind::template Run<kRegisterRows, kVectors>(a, lda, b, ldb, k, c, ldc, accumulate, ahead);
  }
  switch (rows) {
    case 1:
      return Kind::template Run<1, kVectors>(a, lda, b, ldb, k, c, ldc, accumulate, ahead);
    case 2:
      return Kind::template Run<2, kVectors>(a, lda, b, ldb, k, c, ldc, accumulate, ahead);
    case 3:
      return Kind::template Run<3, kVectors>(a, lda, b, ldb, k, c, ldc, accumulate, ahead);
    case 4:
      return Kind::template Run<4, kVectors>(a, lda, b, ldb, k, c, ldc, accumulate, ahead);
    case 5:
      return Kind::template Run<5, kVectors>(a, lda, b, ldb, k, c, ldc, accumulate, ahead);
    default:
      return;
  }
}

// c[rows][columns] (+)= a b for any rows and k; columns a multiple of 16.
template <class V, class Kind>
void Multiply(int64_t rows, int64_t columns, int64_t k, const typename Kind::A* a, int64_t lda,
              const typename Kind::B* b, int64_t ldb, float* c, int64_t ldc, bool accumulate, int64_t ahead = 0) {
  constexpr int64_t kTileColumns = int64_t{V::kTileVectors} * V::kLanes;
  for (; columns >= kTileColumns; columns -= kTileColumns, b += Kind::kCells * kTileColumns, c += kTileColumns) {
    RunRows<Kind, V::kTileVectors>(rows, a, lda, b, ldb, k, c, ldc, accumulate, ahead);
  }
  if constexpr (kTileColumns > 16) {
    switch (columns / V::kLanes) {
      case 1:
        return RunRows<Kind, 1>(rows, a, lda, b, ldb, k, c, ldc, accumulate, ahead);
      case 2:
        return RunRows<Kind, 2>(rows, a, lda, b, ldb, k, c, ldc, accumulate, ahead);
      case 3:
        return RunRows<Kind, 3>(rows, a, lda, b, ldb, k, c, ldc, accumulate, ahead);
      default:
        return;
    }
  }
}

}  // namespace
}  // namespace attend
