#include "document/fusion.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

TEST(Fusion, RanksCountFromTheBest) {
  EXPECT_EQ(RanksOf(std::vector<double>{0.5, 2, -1}), (std::vector<int64_t>{2, 1, 3}));
  EXPECT_TRUE(RanksOf(std::vector<double>{}).empty());
}

TEST(Fusion, EqualScoresShareTheWorstRank) {
  EXPECT_EQ(RanksOf(std::vector<double>{0, 3, 0, 0}), (std::vector<int64_t>{4, 1, 4, 4}));
}

TEST(Fusion, SumsReciprocalRanks) {
  const std::vector<double> fused = FuseRanks({{1, 2, 3}, {2, 1, 3}, {1, 3, 2}});
  EXPECT_DOUBLE_EQ(fused[0], 1.0 / 6 + 1.0 / 7 + 1.0 / 6);
  EXPECT_DOUBLE_EQ(fused[1], 1.0 / 7 + 1.0 / 6 + 1.0 / 8);
  EXPECT_EQ(OrderOf(fused), (std::vector<size_t>{0, 1, 2}));
  EXPECT_TRUE(FuseRanks({}).empty());
}

TEST(Fusion, TwoSecondPlacesBeatAFirstAndALast) {
  const std::vector<double> fused = FuseRanks({{1, 2, 3, 4, 5, 6}, {6, 2, 3, 1, 4, 5}});
  EXPECT_EQ(OrderOf(fused).front(), 1u);
}

TEST(Fusion, OrderKeepsEqualsAsTheyStand) {
  EXPECT_EQ(OrderOf(std::vector<double>{1, 2, 2, 0}), (std::vector<size_t>{1, 2, 0, 3}));
}

}  // namespace
}  // namespace attend
