// Sixteen-lane vectors: AVX-512 F, BW, DQ, VL. VecAvx512Vnni adds the dot product of bytes, VecAvx512Bf16 that of bf16;
// they are separate types, so that the plain one holds no instruction of theirs.
#pragma once

#include <immintrin.h>
#include <stdint.h>

// Whatever lay in the registers before could be subnormal, and then each multiply-add takes a hundred times as long.
#define ATTEND_ZERO(i) "vpxord %%zmm" #i ", %%zmm" #i ", %%zmm" #i "\n"
// clang-format off
#define ATTEND_ZERO_LOOP_REGISTERS \
  ATTEND_ZERO(0) ATTEND_ZERO(1) ATTEND_ZERO(2) ATTEND_ZERO(3) ATTEND_ZERO(4) ATTEND_ZERO(5) ATTEND_ZERO(6) \
  ATTEND_ZERO(7) ATTEND_ZERO(8) ATTEND_ZERO(9) ATTEND_ZERO(10) ATTEND_ZERO(11) ATTEND_ZERO(30) ATTEND_ZERO(31)
// clang-format on

namespace attend {
namespace {

struct VecAvx512 {
  static constexpr const char* kName = "avx512";
  static constexpr int kLanes = 16;
  static constexpr int kTileVectors = 4;
  static constexpr bool kHasBf16Dot = false;

  using F = __m512;

  static F Load(const float* p) { return _mm512_loadu_ps(p); }
  static void Store(float* p, F v) { _mm512_storeu_ps(p, v); }
  static F Set1(float x) { return _mm512_set1_ps(x); }
  static F Zero() { return _mm512_setzero_ps(); }
  static F Add(F a, F b) { return _mm512_add_ps(a, b); }
  static F Sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F Mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F Div(F a, F b) { return _mm512_div_ps(a, b); }
  static F Fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F Max(F a, F b) { return _mm512_max_ps(a, b); }
  static F Min(F a, F b) { return _mm512_min_ps(a, b); }
  static float ReduceAdd(F v) { return _mm512_reduce_add_ps(v); }
  static float ReduceMax(F v) { return _mm512_reduce_max_ps(v); }

  static F Round(F x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static F ScaleByPowerOfTwo(F p, F n) { return _mm512_scalef_ps(p, n); }
  static F ZeroBelow(F value, F x, float limit) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(limit), _CMP_NLT_UQ), value);
  }

  static F EvenBf16(const uint16_t* pairs) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(pairs), 16));
  }
  static F OddBf16(const uint16_t* pairs) {
    return _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_loadu_si512(pairs), _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  static F RoundBf16(F v) {
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x00400000));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_mask_mov_epi32(rounded, is_nan, quiet), high));
  }
  // For values already rounded.
  static void StoreBf16Number(uint16_t* p, F v) {
    const __m512i words = _mm512_srli_epi32(_mm512_castps_si512(v), 16);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(words));
  }
  static void StoreBf16(uint16_t* p, F v) {
    const __m512i words = _mm512_srli_epi32(_mm512_castps_si512(RoundBf16(v)), 16);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(words));
  }
  static F LoadF16(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static F LoadInt8(const int8_t* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }

  // A nibble becomes its float by one table look-up: the permute reads the low four bits of each word.
  using Nibbles = __m512i;
  struct NibbleTable {
    F values;
  };
  static Nibbles LoadNibbles(const uint8_t* p) { return _mm512_loadu_si512(p); }
  static NibbleTable MakeNibbleTable(float offset) {
    const F steps = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return {_mm512_sub_ps(steps, _mm512_set1_ps(offset))};
  }
  static F Nibble(Nibbles words, int i, NibbleTable table) {
    return _mm512_permutexvar_ps(_mm512_srli_epi32(words, static_cast<unsigned>(4 * i)), table.values);
  }

  // Words of four 8-bit codes, and their integer products.
  using I = __m512i;
  static I LoadWords(const void* p) { return _mm512_loadu_si512(p); }
  static I Set1Word(const void* p) {
    int word;
    __builtin_memcpy(&word, p, sizeof word);
    return _mm512_set1_epi32(word);
  }
  static I ZeroWords() { return _mm512_setzero_si512(); }
  static F WordsToFloat(I v) { return _mm512_cvtepi32_ps(v); }
  static I SubtractWords(I a, int32_t b) { return _mm512_sub_epi32(a, _mm512_set1_epi32(b)); }
  static F UnsignedByte(I v, int i) {
    return _mm512_cvtepi32_ps(
        _mm512_and_si512(_mm512_srli_epi32(v, static_cast<unsigned>(8 * i)), _mm512_set1_epi32(255)));
  }
  static F SignedByte(I v, int i) {
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(v, static_cast<unsigned>(24 - 8 * i)), 24));
  }
  static I FlipSigns(I v) { return _mm512_xor_si512(v, _mm512_set1_epi8(static_cast<char>(0x80))); }
  static I LowNibbles(I v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
  static I HighNibbles(I v) { return LowNibbles(_mm512_srli_epi16(v, 4)); }
  static I BytesMinus(I v, char x) { return _mm512_sub_epi8(v, _mm512_set1_epi8(x)); }
  // acc + the four products of unsigned u and signed s bytes of each word; exact.
  static I DotBytes(I acc, I u, I s) {
    const I low =
        _mm512_madd_epi16(_mm512_and_si512(u, _mm512_set1_epi16(255)), _mm512_srai_epi16(_mm512_slli_epi16(s, 8), 8));
    const I high = _mm512_madd_epi16(_mm512_srli_epi16(u, 8), _mm512_srai_epi16(s, 8));
    return _mm512_add_epi32(acc, _mm512_add_epi32(low, high));
  }
  // Rounds to the nearest integer and stores its low byte; values in [-128, 255].
  static void StoreBytes(uint8_t* p, F v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
  }
  // The sums of four vectors, side by side.
  static void ReduceAdd4(F a, F b, F c, F d, float* out) {
    const F ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
    const F cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x88), _mm512_shuffle_f32x4(c, d, 0xdd));
    F each = _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
    each = _mm512_add_ps(each, _mm512_permute_ps(each, 0x4e));  // four lanes of each vector are left
    each = _mm512_add_ps(each, _mm512_permute_ps(each, 0xb1));
    const __m512i first = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    _mm_storeu_ps(out, _mm512_castps512_ps128(_mm512_permutexvar_ps(first, each)));
  }
  static F ZeroUnless(F x, uint32_t bits) { return _mm512_maskz_mov_ps(static_cast<__mmask16>(bits), x); }
  // x where bit i of `bits` is set, else minus infinity.
  static F KeepVisible(F x, uint32_t bits) {
    return _mm512_mask_mov_ps(_mm512_set1_ps(-__builtin_inff()), static_cast<__mmask16>(bits), x);
  }

  static uint32_t SumWords(const uint8_t* data, int64_t bytes) {
    __m512i a = _mm512_setzero_si512(), b = a;
    for (int64_t i = 0; i + 128 <= bytes; i += 128) {
      a = _mm512_add_epi32(a, _mm512_loadu_si512(data + i));
      b = _mm512_add_epi32(b, _mm512_loadu_si512(data + i + 64));
    }
    uint32_t words[16], sum = 0;  // unsigned: the sum wraps, which the reducing intrinsic calls undefined
    _mm512_storeu_si512(words, _mm512_add_epi32(a, b));
    for (uint32_t word : words) sum += word;
    return sum;
  }
  // One asm block, so that the accumulators stay in registers whatever the compiler thinks.
  static double FmaLoop(int64_t steps) {
    int64_t left = steps;
    __asm__ volatile(ATTEND_ZERO_LOOP_REGISTERS
                     "1:\n"
                     "vfmadd231ps %%zmm31, %%zmm30, %%zmm0\n vfmadd231ps %%zmm31, %%zmm30, %%zmm1\n"
                     "vfmadd231ps %%zmm31, %%zmm30, %%zmm2\n vfmadd231ps %%zmm31, %%zmm30, %%zmm3\n"
                     "vfmadd231ps %%zmm31, %%zmm30, %%zmm4\n vfmadd231ps %%zmm31, %%zmm30, %%zmm5\n"
                     "vfmadd231ps %%zmm31, %%zmm30, %%zmm6\n vfmadd231ps %%zmm31, %%zmm30, %%zmm7\n"
                     "vfmadd231ps %%zmm31, %%zmm30, %%zmm8\n vfmadd231ps %%zmm31, %%zmm30, %%zmm9\n"
                     "vfmadd231ps %%zmm31, %%zmm30, %%zmm10\n vfmadd231ps %%zmm31, %%zmm30, %%zmm11\n"
                     "dec %0\n jnz 1b\n"
                     : "+r"(left)
                     :
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                       "xmm30", "xmm31", "cc");
    return static_cast<double>(steps) * 12 * kLanes * 2;
  }
  static double Bf16Loop(int64_t steps) { return FmaLoop(steps); }
};

#if defined(__AVX512VNNI__)
struct VecAvx512Vnni : VecAvx512 {
  static constexpr const char* kName = "avx512_vnni";
  static I DotBytes(I acc, I u, I s) { return _mm512_dpbusd_epi32(acc, u, s); }
};
#endif

#if defined(__AVX512BF16__)
struct VecAvx512Bf16 : VecAvx512Vnni {
  static constexpr const char* kName = "avx512_bf16";
  static constexpr bool kHasBf16Dot = true;

  using Pairs = __m512bh;
  static Pairs LoadPairs(const uint16_t* p) { return FromBits(_mm512_loadu_si512(p)); }
  static Pairs Set1Pair(const uint16_t* p) {
    return FromBits(_mm512_set1_epi32(static_cast<int>(p[0] | uint32_t{p[1]} << 16)));
  }
  // Interleaves two vectors of values that are exact in bf16.
  static void StorePair(uint16_t* p, F even, F odd) {
    const __m512i high = _mm512_and_si512(_mm512_castps_si512(odd), _mm512_set1_epi32(static_cast<int>(0xffff0000u)));
    _mm512_storeu_si512(p, _mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(even), 16), high));
  }
  // acc + even * even + odd * odd, in float32.
  static F DotPairs(F acc, Pairs a, Pairs b) { return _mm512_dpbf16_ps(acc, a, b); }

  static double Bf16Loop(int64_t steps) {
    int64_t left = steps;
    __asm__ volatile(ATTEND_ZERO_LOOP_REGISTERS
                     "1:\n"
                     "vdpbf16ps %%zmm31, %%zmm30, %%zmm0\n vdpbf16ps %%zmm31, %%zmm30, %%zmm1\n"
                     "vdpbf16ps %%zmm31, %%zmm30, %%zmm2\n vdpbf16ps %%zmm31, %%zmm30, %%zmm3\n"
                     "vdpbf16ps %%zmm31, %%zmm30, %%zmm4\n vdpbf16ps %%zmm31, %%zmm30, %%zmm5\n"
                     "vdpbf16ps %%zmm31, %%zmm30, %%zmm6\n vdpbf16ps %%zmm31, %%zmm30, %%zmm7\n"
                     "vdpbf16ps %%zmm31, %%zmm30, %%zmm8\n vdpbf16ps %%zmm31, %%zmm30, %%zmm9\n"
                     "vdpbf16ps %%zmm31, %%zmm30, %%zmm10\n vdpbf16ps %%zmm31, %%zmm30, %%zmm11\n"
                     "dec %0\n jnz 1b\n"
                     : "+r"(left)
                     :
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                       "xmm30", "xmm31", "cc");
    return static_cast<double>(steps) * 12 * kLanes * 4;
  }

 private:
  static Pairs FromBits(__m512i bits) {
    union {
      __m512i bits;
      Pairs pairs;
    } both = {bits};
    return both.pairs;
  }
};
#endif

}  // namespace
}  // namespace attend
