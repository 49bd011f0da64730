// How far measured times lay from planned ones, and what that says of the next.
#pragma once

#include <algorithm>
#include <span>

#include "tensor/calibration.h"

namespace attend {

inline constexpr size_t kRunsForSpread = 3;
inline constexpr double kSpreadMargin = 0.05;  // beyond what was seen

// `ratios`: measured / expected of earlier runs. Fewer than kRunsForSpread say nothing: the default.
inline Spread SpreadOf(std::span<const double> ratios) {
  if (ratios.size() < kRunsForSpread) return {};
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  return {.low = std::min(*least, 1.0) - kSpreadMargin, .high = std::max(*most, 1.0) + kSpreadMargin};
}

}  // namespace attend
