// Eight-lane vectors: AVX2, FMA, F16C.
#pragma once

#include <immintrin.h>
#include <stdint.h>

// Whatever lay in the registers before could be subnormal, and then each multiply-add takes a hundred times as long.
#define ATTEND_ZERO(i) "vxorps %%ymm" #i ", %%ymm" #i ", %%ymm" #i "\n"
// clang-format off
#define ATTEND_ZERO_LOOP_REGISTERS \
  ATTEND_ZERO(0) ATTEND_ZERO(1) ATTEND_ZERO(2) ATTEND_ZERO(3) ATTEND_ZERO(4) ATTEND_ZERO(5) ATTEND_ZERO(6) \
  ATTEND_ZERO(7) ATTEND_ZERO(8) ATTEND_ZERO(9) ATTEND_ZERO(10) ATTEND_ZERO(11) ATTEND_ZERO(14) ATTEND_ZERO(15)
// clang-format on

namespace attend {
namespace {

struct VecAvx2 {
  static constexpr const char* kName = "avx2";
  static constexpr int kLanes = 8;
  static constexpr int kTileVectors = 2;
  static constexpr bool kHasBf16Dot = false;

  using F = __m256;

  static F Load(const float* p) { return _mm256_loadu_ps(p); }
  static void Store(float* p, F v) { _mm256_storeu_ps(p, v); }
  static F Set1(float x) { return _mm256_set1_ps(x); }
  static F Zero() { return _mm256_setzero_ps(); }
  static F Add(F a, F b) { return _mm256_add_ps(a, b); }
  static F Sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F Mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F Div(F a, F b) { return _mm256_div_ps(a, b); }
  static F Fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F Max(F a, F b) { return _mm256_max_ps(a, b); }
  static F Min(F a, F b) { return _mm256_min_ps(a, b); }
  static float ReduceAdd(F v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }
  static float ReduceMax(F v) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
  }

  static F Round(F x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  // p * 2^n for whole n in [-126, 127].
  static F ScaleByPowerOfTwo(F p, F n) {
    const __m256i exponent = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(p, _mm256_castsi256_ps(exponent));
  }
  static F ZeroBelow(F value, F x, float limit) {
    return _mm256_and_ps(value, _mm256_cmp_ps(x, _mm256_set1_ps(limit), _CMP_NLT_UQ));
  }

  static F EvenBf16(const uint16_t* pairs) { return _mm256_castsi256_ps(_mm256_slli_epi32(LoadWords(pairs), 16)); }
  static F OddBf16(const uint16_t* pairs) {
    return _mm256_castsi256_ps(_mm256_and_si256(LoadWords(pairs), _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  static F RoundBf16(F v) {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i high = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
    const __m256i rounded =
        _mm256_and_si256(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), high);
    const __m256i quiet = _mm256_or_si256(_mm256_and_si256(bits, high), _mm256_set1_epi32(0x00400000));
    return _mm256_blendv_ps(_mm256_castsi256_ps(rounded), _mm256_castsi256_ps(quiet),
                            _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  }
  static void StoreBf16(uint16_t* p, F v) {
    const __m256i words = _mm256_srli_epi32(_mm256_castps_si256(RoundBf16(v)), 16);
    const __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), packed);
  }
  static F LoadF16(const uint16_t* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static F LoadInt8(const int8_t* p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }

  using Nibbles = __m256i;
  struct NibbleTable {
    F offset;
  };
  static Nibbles LoadNibbles(const uint8_t* p) { return LoadWords(p); }
  static NibbleTable MakeNibbleTable(float offset) { return {_mm256_set1_ps(offset)}; }
  static F Nibble(Nibbles words, int i, NibbleTable table) {
    const __m256i value = _mm256_and_si256(_mm256_srli_epi32(words, 4 * i), _mm256_set1_epi32(15));
    return _mm256_sub_ps(_mm256_cvtepi32_ps(value), table.offset);
  }

  // Words of four 8-bit codes, and their integer products.
  using I = __m256i;
  static I LoadWords(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static I Set1Word(const void* p) {
    int word;
    __builtin_memcpy(&word, p, sizeof word);
    return _mm256_set1_epi32(word);
  }
  static I ZeroWords() { return _mm256_setzero_si256(); }
  static F WordsToFloat(I v) { return _mm256_cvtepi32_ps(v); }
  static I SubtractWords(I a, int32_t b) { return _mm256_sub_epi32(a, _mm256_set1_epi32(b)); }
  static F UnsignedByte(I v, int i) {
    return _mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(v, 8 * i), _mm256_set1_epi32(255)));
  }
  static F SignedByte(I v, int i) {
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(v, 24 - 8 * i), 24));
  }
  static I FlipSigns(I v) { return _mm256_xor_si256(v, _mm256_set1_epi8(static_cast<char>(0x80))); }
  static I LowNibbles(I v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }
  static I HighNibbles(I v) { return LowNibbles(_mm256_srli_epi16(v, 4)); }
  static I BytesMinus(I v, char x) { return _mm256_sub_epi8(v, _mm256_set1_epi8(x)); }
  // acc + the four products of unsigned u and signed s bytes of each word; exact.
  static I DotBytes(I acc, I u, I s) {
    const I low =
        _mm256_madd_epi16(_mm256_and_si256(u, _mm256_set1_epi16(255)), _mm256_srai_epi16(_mm256_slli_epi16(s, 8), 8));
    const I high = _mm256_madd_epi16(_mm256_srli_epi16(u, 8), _mm256_srai_epi16(s, 8));
    return _mm256_add_epi32(acc, _mm256_add_epi32(low, high));
  }
  // Rounds to the nearest integer and stores its low byte; values in [-128, 255].
  static void StoreBytes(uint8_t* p, F v) {
    const I bytes = _mm256_and_si256(_mm256_cvtps_epi32(v), _mm256_set1_epi32(255));
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
  }
  static F LanesOf(uint32_t bits) {
    const I lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_castsi256_ps(
        _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), lane), lane));
  }
  static F ZeroUnless(F x, uint32_t bits) { return _mm256_and_ps(LanesOf(bits), x); }
  // x where bit i of `bits` is set, else minus infinity.
  static F KeepVisible(F x, uint32_t bits) {
    return _mm256_blendv_ps(_mm256_set1_ps(-__builtin_inff()), x, LanesOf(bits));
  }

  static uint32_t SumWords(const uint8_t* data, int64_t bytes) {
    __m256i a = _mm256_setzero_si256(), b = a;
    for (int64_t i = 0; i + 64 <= bytes; i += 64) {
      a = _mm256_add_epi32(a, LoadWords(data + i));
      b = _mm256_add_epi32(b, LoadWords(data + i + 32));
    }
    uint32_t words[8], sum = 0;  // unsigned: the sum wraps
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), _mm256_add_epi32(a, b));
    for (uint32_t word : words) sum += word;
    return sum;
  }
  // One asm block, so that the accumulators stay in registers whatever the compiler thinks.
  static double FmaLoop(int64_t steps) {
    int64_t left = steps;
    __asm__ volatile(ATTEND_ZERO_LOOP_REGISTERS
                     "1:\n"
                     "vfmadd231ps %%ymm15, %%ymm14, %%ymm0\n vfmadd231ps %%ymm15, %%ymm14, %%ymm1\n"
                     "vfmadd231ps %%ymm15, %%ymm14, %%ymm2\n vfmadd231ps %%ymm15, %%ymm14, %%ymm3\n"
                     "vfmadd231ps %%ymm15, %%ymm14, %%ymm4\n vfmadd231ps %%ymm15, %%ymm14, %%ymm5\n"
                     "vfmadd231ps %%ymm15, %%ymm14, %%ymm6\n vfmadd231ps %%ymm15, %%ymm14, %%ymm7\n"
                     "vfmadd231ps %%ymm15, %%ymm14, %%ymm8\n vfmadd231ps %%ymm15, %%ymm14, %%ymm9\n"
                     "vfmadd231ps %%ymm15, %%ymm14, %%ymm10\n vfmadd231ps %%ymm15, %%ymm14, %%ymm11\n"
                     "dec %0\n jnz 1b\n"
                     : "+r"(left)
                     :
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                       "xmm14", "xmm15", "cc");
    return static_cast<double>(steps) * 12 * kLanes * 2;
  }
  static double Bf16Loop(int64_t steps) { return FmaLoop(steps); }
};

}  // namespace
}  // namespace attend
