#include "attention/state.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attend {

float MergeStates(std::span<const AttentionState> states, int64_t width, float* out) {
  constexpr float kEmpty = -std::numeric_limits<float>::infinity();
  float maximum = kEmpty;
  for (const AttentionState& state : states) maximum = std::isnan(state.lse) ? state.lse : std::max(maximum, state.lse);
  std::fill(out, out + width, 0.0f);
  if (maximum == kEmpty) return kEmpty;
  float sum = 0;
  for (const AttentionState& state : states) {
    if (state.lse == kEmpty) continue;
    const float weight = std::exp(state.lse - maximum);
    sum += weight;
    for (int64_t i = 0; i < width; ++i) out[i] += weight * state.out[i];
  }
  for (int64_t i = 0; i < width; ++i) out[i] /= sum;
  return maximum + std::log(sum);
}

float MergeLse(float a, float b) {
  const float low = std::min(a, b), high = std::max(a, b);
  if (std::isnan(a) || std::isnan(b)) return a + b;
  return std::isinf(low) && low < 0 ? high : high + std::log1p(std::exp(low - high));
}

}  // namespace attend
