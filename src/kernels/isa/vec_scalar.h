// Four-lane vectors in the compiler's portable form: runs on any processor, no instruction beyond the baseline.
#pragma once

#include <stdint.h>
#include <string.h>

namespace attend {
namespace {

struct VecScalar {
  static constexpr const char* kName = "scalar";
  static constexpr int kLanes = 4;
  static constexpr int kTileVectors = 2;  // columns of a register tile: kTileVectors * kLanes
  static constexpr bool kHasBf16Dot = false;

  using F = float __attribute__((vector_size(16)));
  using U = uint32_t __attribute__((vector_size(16)));
  using I = int32_t __attribute__((vector_size(16)));

  template <class T>
  static T LoadBytes(const void* p) {
    T v;
    memcpy(&v, p, sizeof v);
    return v;
  }
  static F Load(const float* p) { return LoadBytes<F>(p); }
  static void Store(float* p, F v) { memcpy(p, &v, sizeof v); }
  static F Set1(float x) { return F{x, x, x, x}; }
  static F Zero() { return F{}; }
  static F Add(F a, F b) { return a + b; }
  static F Sub(F a, F b) { return a - b; }
  static F Mul(F a, F b) { return a * b; }
  static F Div(F a, F b) { return a / b; }
  static F Fma(F a, F b, F c) { return a * b + c; }
  static F Max(F a, F b) { return Select(a > b, a, b); }
  static F Min(F a, F b) { return Select(a < b, a, b); }
  static float ReduceAdd(F v) { return (v[0] + v[1]) + (v[2] + v[3]); }
  static float ReduceMax(F v) {
    const float a = v[0] > v[1] ? v[0] : v[1];
    const float b = v[2] > v[3] ? v[2] : v[3];
    return a > b ? a : b;
  }

  // Adding and taking away 1.5 * 2^23 rounds to the nearest integer, for |x| < 2^22.
  static F Round(F x) {
    const F magic = Set1(12582912.0f);
    return (x + magic) - magic;
  }
  // p * 2^n for whole n in [-126, 127].
  static F ScaleByPowerOfTwo(F p, F n) {
    const I exponent = (__builtin_convertvector(n, I) + 127) << 23;
    return p * Bits<F>(exponent);
  }
  // value where not x < limit, else 0: NaN in x keeps the value.
  static F ZeroBelow(F value, F x, float limit) { return Select(x < Set1(limit), Zero(), value); }

  // Even and odd halves of kLanes bf16 pairs.
  static F EvenBf16(const uint16_t* pairs) { return Bits<F>(LoadBytes<U>(pairs) << 16); }
  static F OddBf16(const uint16_t* pairs) { return Bits<F>(LoadBytes<U>(pairs) & 0xffff0000u); }
  static F RoundBf16(F v) {
    const U bits = Bits<U>(v);
    const U rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
    const U quiet = (bits & 0xffff0000u) | 0x00400000u;
    return Bits<F>(((bits & 0x7fffffffu) > 0x7f800000u) ? quiet : rounded);
  }
  static void StoreBf16(uint16_t* p, F v) {
    const U bits = Bits<U>(RoundBf16(v));
    for (int i = 0; i < kLanes; ++i) p[i] = static_cast<uint16_t>(bits[i] >> 16);
  }
  static F LoadF16(const uint16_t* p) {
    // Shifting exponent and mantissa into place and scaling by 2^112 handles subnormals too; infinity and NaN are
    // patched.
    U half = {p[0], p[1], p[2], p[3]};
    const U magnitude = (half & 0x7fffu) << 13;
    const U scaled = Bits<U>(Bits<F>(magnitude) * Set1(0x1p112f));
    const U patched = (magnitude >= 0x0f800000u) ? (scaled | 0x7f800000u) : scaled;
    return Bits<F>(patched | ((half & 0x8000u) << 16));
  }
  static F LoadInt8(const int8_t* p) {
    return F{static_cast<float>(p[0]), static_cast<float>(p[1]), static_cast<float>(p[2]), static_cast<float>(p[3])};
  }
  using Nibbles = U;
  static Nibbles LoadNibbles(const uint8_t* p) { return LoadBytes<U>(p); }
  // Nibble i of each word minus offset.
  struct NibbleTable {
    float offset;
  };
  static NibbleTable MakeNibbleTable(float offset) { return {offset}; }
  static F Nibble(Nibbles words, int i, NibbleTable table) {
    return __builtin_convertvector((words >> (4 * i)) & 15u, F) - Set1(table.offset);
  }

  // Words of four 8-bit codes, and their integer products.
  static I LoadWords(const void* p) { return LoadBytes<I>(p); }
  static I Set1Word(const void* p) {
    const int32_t word = LoadBytes<int32_t>(p);
    return I{word, word, word, word};
  }
  static I ZeroWords() { return I{}; }
  static F WordsToFloat(I v) { return __builtin_convertvector(v, F); }
  static I SubtractWords(I a, int32_t b) { return a - b; }
  static F UnsignedByte(I v, int i) { return __builtin_convertvector(Byte(v, i), F); }
  static F SignedByte(I v, int i) { return __builtin_convertvector(Signed(v, i), F); }
  static I FlipSigns(I v) { return v ^ static_cast<int32_t>(0x80808080u); }
  static I LowNibbles(I v) { return v & 0x0f0f0f0f; }
  static I HighNibbles(I v) { return (v >> 4) & 0x0f0f0f0f; }
  static I BytesMinus(I v, char x) {
    const I carry = {0x01000100, 0x01000100, 0x01000100, 0x01000100};  // each byte wraps inside its own half word
    const I low = ((v & 0x00ff00ff) | carry) - x * 0x00010001;
    const I high = (((v >> 8) & 0x00ff00ff) | carry) - x * 0x00010001;
    return (low & 0x00ff00ff) | ((high & 0x00ff00ff) << 8);
  }
  // acc + the four products of unsigned u and signed s bytes of each word; exact.
  static I DotBytes(I acc, I u, I s) {
    for (int i = 0; i < 4; ++i) acc += Byte(u, i) * Signed(s, i);
    return acc;
  }
  // Rounds to the nearest integer and stores its low byte; values in [-128, 255].
  static void StoreBytes(uint8_t* p, F v) {
    const I whole = __builtin_convertvector(Round(v), I);
    for (int i = 0; i < kLanes; ++i) p[i] = static_cast<uint8_t>(whole[i]);
  }
  static F ZeroUnless(F x, uint32_t bits) {
    for (int i = 0; i < kLanes; ++i) {
      if ((bits >> i & 1) == 0) x[i] = 0;
    }
    return x;
  }
  // x where bit i of `bits` is set, else minus infinity.
  static F KeepVisible(F x, uint32_t bits) {
    for (int i = 0; i < kLanes; ++i) {
      if ((bits >> i & 1) == 0) x[i] = -__builtin_inff();
    }
    return x;
  }

  static uint32_t SumWords(const uint8_t* data, int64_t bytes) {
    U a = {}, b = {};
    for (int64_t i = 0; i + 32 <= bytes; i += 32) {
      a += LoadBytes<U>(data + i);
      b += LoadBytes<U>(data + i + 16);
    }
    a += b;
    return a[0] + a[1] + a[2] + a[3];
  }
  static double FmaLoop(int64_t steps) {
    F acc[8];
    for (F& v : acc) v = Zero();
    const F x = Set1(0.5f);
    for (int64_t i = 0; i < steps; ++i) {
      for (F& v : acc) {
        v = v * x + x;
        __asm__ volatile("" : "+x"(v));
      }
    }
    return static_cast<double>(steps) * 8 * kLanes * 2;
  }
  static double Bf16Loop(int64_t steps) { return FmaLoop(steps); }

 private:
  static I Byte(I v, int i) { return (v >> (8 * i)) & 255; }
  static I Signed(I v, int i) { return Bits<I>(Bits<U>(v) << (24 - 8 * i)) >> 24; }
  template <class To, class From>
  static To Bits(From v) {
    To to;
    memcpy(&to, &v, sizeof to);
    return to;
  }
  template <class M>
  static F Select(M mask, F a, F b) {
    return mask ? a : b;
  }
};

}  // namespace
}  // namespace attend
