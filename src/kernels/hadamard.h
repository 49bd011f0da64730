// The orthonormal Walsh-Hadamard transform of a row, in blocks of the largest power of two that divides it. It is its
// own inverse and keeps inner products, so rotating both q and K changes no score, while an outlier of K spreads over
// its block before rounding to few bits (QuaRot, Ashkboos et al. 2024).
#pragma once

#include <cstdint>

namespace attend {

void HadamardRotate(float* row, int64_t n);

}  // namespace attend
