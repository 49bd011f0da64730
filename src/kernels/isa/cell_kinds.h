// Operand kinds (matmul_body.h) that read bytes and nibbles of a tile where they lie: for few rows, where
// unpacking the tile first would cost more than it saves. Quantised cells count without their scales.
#pragma once

#include "kernels/isa/kv_unpack.h"

namespace attend {
namespace {

// Words of 4 bytes or 8 nibbles of a column: input i of a word as floats. Bytes of K are unsigned with zero at 128.
template <class V, bool kKeys>
struct ByteWords {
  static constexpr int kInputs = 4;
  using Word = typename V::I;
  static Word Load(const uint8_t* p) { return kKeys ? V::FlipSigns(V::LoadWords(p)) : V::LoadWords(p); }
  typename V::F Input(Word word, int i) const { return V::SignedByte(word, i); }
};
template <class V>
struct NibbleWords {
  static constexpr int kInputs = 8;
  using Word = typename V::Nibbles;
  typename V::NibbleTable table = V::MakeNibbleTable(8.0f);
  static Word Load(const uint8_t* p) { return V::LoadNibbles(p); }
  typename V::F Input(Word word, int i) const { return V::Nibble(word, i % 4 * 2 + i / 4, table); }
};

template <class V, class Words>
struct WordKind {
  using A = float;
  using B = uint8_t;
  static constexpr int kCells = 4;  // bytes of a column and word

  template <int kRows, int kVectors>
  static void Run(const A* a, int64_t lda, const B* b, int64_t ldb, int64_t k, float* c, int64_t ldc, bool accumulate,
                  int64_t ahead) {
    const Words words;
    TileSums<V, kRows, kVectors> sums(c, ldc, accumulate);
    for (int64_t i = 0; i < k; i += Words::kInputs) {
      const B* row = b + i / Words::kInputs * kCells * ldb;
      AskFor<V, true, kVectors, kCells>(row, ahead);
#pragma GCC unroll 8
      for (int n = 0; n < kVectors; ++n) {
        const typename Words::Word word = Words::Load(row + kCells * n * V::kLanes);
#pragma GCC unroll 8
        for (int j = 0; j < Words::kInputs; ++j) {
          const typename V::F column = words.Input(word, j);
#pragma GCC unroll 8
          for (int r = 0; r < kRows; ++r) {
            sums.at[r][n] = V::Fma(V::Set1(a[r * lda + i + j]), column, sums.at[r][n]);
          }
        }
      }
    }
    sums.Store(c, ldc);
  }
};

}  // namespace
}  // namespace attend
