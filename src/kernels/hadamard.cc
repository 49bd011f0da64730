#include "kernels/hadamard.h"

#include <cmath>

namespace attend {

void HadamardRotate(float* row, int64_t n) {
  const int64_t block = n & -n;
  const float norm = 1.0f / std::sqrt(static_cast<float>(block));
  for (int64_t first = 0; first < n; first += block) {
    float* x = row + first;
    for (int64_t half = 1; half < block; half *= 2) {
      for (int64_t i = 0; i < block; i += 2 * half) {
        for (int64_t j = i; j < i + half; ++j) {
          const float a = x[j], b = x[j + half];
          x[j] = a + b;
          x[j + half] = a - b;
        }
      }
    }
    for (int64_t i = 0; i < block; ++i) x[i] *= norm;
  }
}

}  // namespace attend
