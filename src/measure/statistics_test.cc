#include "measure/statistics.h"

#include <gtest/gtest.h>

#include <vector>

namespace attend {
namespace {

TEST(StatisticsTest, QuantilesInterpolateBetweenNeighbours) {
  const std::vector<double> values = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(Quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Quantile(values, 1), 4);
}

TEST(StatisticsTest, MedianOfAnOddCountIsTheMiddleValue) {
  EXPECT_DOUBLE_EQ(Median(std::vector<double>{9, 1, 5}), 5);
}

TEST(StatisticsTest, OneValueHasNoSpread) {
  const Summary s = Summarise(std::vector<double>{7});
  EXPECT_DOUBLE_EQ(s.median, 7);
  EXPECT_DOUBLE_EQ(s.lowest, 7);
  EXPECT_DOUBLE_EQ(s.highest, 7);
  EXPECT_DOUBLE_EQ(s.spread, 0);
}

TEST(StatisticsTest, SpreadIsTheDistanceOfTheQuartilesOverTheMedian) {
  const Summary s = Summarise(std::vector<double>{1, 2, 3, 4, 100});
  EXPECT_DOUBLE_EQ(s.median, 3);
  EXPECT_DOUBLE_EQ(s.spread, (4.0 - 2.0) / 3.0);
  EXPECT_DOUBLE_EQ(s.highest, 100);
}

TEST(StatisticsTest, SpreadOfZeroesIsZero) {
  EXPECT_DOUBLE_EQ(Summarise(std::vector<double>{0, 0}).spread, 0);
}

}  // namespace
}  // namespace attend
