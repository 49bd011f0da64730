#include "plan/spread.h"

#include <gtest/gtest.h>

#include <vector>

namespace attend {
namespace {

Spread Of(const std::vector<double>& ratios) {
  return SpreadOf(ratios);
}

TEST(Spread, AFewRunsSayNothing) {
  EXPECT_EQ(Of({}).low, Spread{}.low);
  EXPECT_EQ(Of({2, 2}).high, Spread{}.high);
}

TEST(Spread, HoldsEveryRunAndTheExpectedTime) {
  EXPECT_DOUBLE_EQ(Of({0.97, 1.02, 1}).low, 0.92);
  EXPECT_DOUBLE_EQ(Of({0.97, 1.02, 1}).high, 1.07);
  EXPECT_DOUBLE_EQ(Of({1.2, 1.3, 1.25}).low, 0.95);
  EXPECT_DOUBLE_EQ(Of({1.2, 1.3, 1.25}).high, 1.35);
  EXPECT_DOUBLE_EQ(Of({0.5, 0.6, 0.7}).high, 1.05);
}

}  // namespace
}  // namespace attend
