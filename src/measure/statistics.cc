#include "measure/statistics.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace attend {

double Quantile(std::span<const double> values, double p) {
  ATTEND_CHECK(!values.empty() && p >= 0 && p <= 1);
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double place = p * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Summary Summarise(std::span<const double> values) {
  Summary s;
  s.median = Median(values);
  s.lowest = Quantile(values, 0);
  s.highest = Quantile(values, 1);
  s.spread = s.median == 0 ? 0 : (Quantile(values, 0.75) - Quantile(values, 0.25)) / s.median;
  return s;
}

}  // namespace attend
