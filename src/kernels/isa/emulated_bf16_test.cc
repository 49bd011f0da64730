// The kernel table of avx512_bf16 with its dot product emulated by plain AVX-512: every line of the bf16 path runs
// wherever AVX-512 does. Compiled with the avx512 flags only; holds no test itself.
#if defined(__AVX512F__)

#include "kernels/isa/table_body.h"
#include "kernels/isa/vec_avx512.h"

namespace attend {
namespace {

// Members named as in VecAvx512Bf16.
struct VecEmulatedBf16 : VecAvx512 {
  static constexpr const char* kName = "avx512_bf16_emulated";
  static constexpr bool kHasBf16Dot = true;

  using Pairs = __m512i;
  static Pairs LoadPairs(const uint16_t* p) { return _mm512_loadu_si512(p); }
  static Pairs Set1Pair(const uint16_t* p) { return _mm512_set1_epi32(static_cast<int>(p[0] | uint32_t{p[1]} << 16)); }
  static void StorePair(uint16_t* p, F even, F odd) {
    const __m512i high = _mm512_and_si512(_mm512_castps_si512(odd), _mm512_set1_epi32(static_cast<int>(0xffff0000u)));
    _mm512_storeu_si512(p, _mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(even), 16), high));
  }
  static F DotPairs(F acc, Pairs a, Pairs b) { return Fma(Even(a), Even(b), Fma(Odd(a), Odd(b), acc)); }

 private:
  static F Even(Pairs p) { return _mm512_castsi512_ps(_mm512_slli_epi32(p, 16)); }
  static F Odd(Pairs p) {
    return _mm512_castsi512_ps(_mm512_and_si512(p, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }
};

}  // namespace

extern const KernelTable kEmulatedBf16Kernels;
const KernelTable kEmulatedBf16Kernels = MakeKernelTable<VecEmulatedBf16>();

}  // namespace attend

#endif
