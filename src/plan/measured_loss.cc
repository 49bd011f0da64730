#include "plan/measured_loss.h"

#include <cmath>
#include <iterator>
#include <utility>

namespace attend {
namespace {

constexpr double kRiseOfPieces[] = {0, 0.044, 0.107, 0.208};  // 1, 2, 4, 8 pieces

struct CacheRise {
  DType dtype;
  double rise;
};
// A block of 32 values with its own scale is our q8/32, and without the rotation of K our q4/32-h.
constexpr CacheRise kRiseOfCaches[] = {{DType::kF32, 0},      {DType::kBf16, 0},    {DType::kF16, 0},
                                       {DType::kQ8, 0.0018},  {DType::kQ4, 0.1059}, {DType::kQ8_0, 0.0007},
                                       {DType::kQ4_0, 0.1545}};

}  // namespace

std::optional<double> NllRiseOfPieces(int64_t num_pieces) {
  const double doublings = std::log2(static_cast<double>(num_pieces));
  const size_t below = static_cast<size_t>(doublings);
  constexpr size_t kLast = std::size(kRiseOfPieces) - 1;
  if (doublings > kLast) return std::nullopt;
  if (below == kLast) return kRiseOfPieces[kLast];
  const double share = doublings - static_cast<double>(below);
  return kRiseOfPieces[below] + share * (kRiseOfPieces[below + 1] - kRiseOfPieces[below]);
}

std::optional<double> NllRiseOfInterpolation(double factor) {
  constexpr std::pair<double, double> kMeasured[] = {{1, 0}, {1.5, 0.426}, {2, 1.018}};
  for (size_t i = 1; i < std::size(kMeasured); ++i) {
    const auto [from, low] = kMeasured[i - 1];
    const auto [to, high] = kMeasured[i];
    if (factor >= from && factor <= to) return low + (factor - from) / (to - from) * (high - low);
  }
  return std::nullopt;
}

std::optional<double> NllRiseOfCache(const KvFormat& format) {
  if (format.k != format.v || format.scale_group != kWholeHead) return std::nullopt;
  for (const auto& [dtype, rise] : kRiseOfCaches) {
    if (dtype == format.k) return rise;
  }
  return std::nullopt;
}

}  // namespace attend
