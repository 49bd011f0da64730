// Rankings joined without comparing their scores: reciprocal rank fusion (Cormack, Clarke and Buettcher 2009,
// doi:10.1145/1571941.1572114), sum of 1 / (5 + rank). 5 instead of the customary 60: a document has tens of passages,
// not millions, and being first must count.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attend {

// Rank of each score, 1 = highest. Equal scores share the worst of their ranks: words that are nowhere say nothing.
std::vector<int64_t> RanksOf(std::span<const double> scores);

inline constexpr double kRankOffset = 5;
inline constexpr double kBestFusedScore = 1 / (kRankOffset + 1);  // for each ranking

// The fused score of each item. All rankings have the same length; none given: empty.
std::vector<double> FuseRanks(const std::vector<std::vector<int64_t>>& rankings);

// Indices by falling score, the earlier first among equals.
std::vector<size_t> OrderOf(std::span<const double> scores);

}  // namespace attend
