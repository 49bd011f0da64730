#include "document/fusion.h"

#include <algorithm>
#include <numeric>

namespace attend {

std::vector<int64_t> RanksOf(std::span<const double> scores) {
  std::vector<double> sorted(scores.begin(), scores.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> ranks;
  for (const double score : scores)
    ranks.push_back(sorted.end() - std::lower_bound(sorted.begin(), sorted.end(), score));
  return ranks;
}

std::vector<double> FuseRanks(const std::vector<std::vector<int64_t>>& rankings) {
  std::vector<double> fused(rankings.empty() ? 0 : rankings.front().size(), 0.0);
  for (const std::vector<int64_t>& ranking : rankings) {
    for (size_t i = 0; i < fused.size(); ++i) fused[i] += 1 / (kRankOffset + static_cast<double>(ranking[i]));
  }
  return fused;
}

std::vector<size_t> OrderOf(std::span<const double> scores) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  return order;
}

}  // namespace attend
