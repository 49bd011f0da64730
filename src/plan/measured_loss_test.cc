#include "plan/measured_loss.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

TEST(MeasuredLoss, OfPieces) {
  EXPECT_EQ(NllRiseOfPieces(1), 0);
  EXPECT_EQ(NllRiseOfPieces(2), 0.044);
  EXPECT_EQ(NllRiseOfPieces(4), 0.107);
  EXPECT_EQ(NllRiseOfPieces(8), 0.208);
  EXPECT_GT(*NllRiseOfPieces(3), 0.044);
  EXPECT_LT(*NllRiseOfPieces(3), 0.107);
  EXPECT_FALSE(NllRiseOfPieces(9));
  EXPECT_FALSE(NllRiseOfPieces(INT64_MAX));
}

TEST(MeasuredLoss, OfInterpolatedPositions) {
  EXPECT_EQ(NllRiseOfInterpolation(1), 0);
  EXPECT_EQ(NllRiseOfInterpolation(1.5), 0.426);
  EXPECT_DOUBLE_EQ(*NllRiseOfInterpolation(1.25), 0.213);
  EXPECT_EQ(NllRiseOfInterpolation(2), 1.018);
  EXPECT_FALSE(NllRiseOfInterpolation(2.1));
  EXPECT_FALSE(NllRiseOfInterpolation(0.5));
}

TEST(MeasuredLoss, OfCaches) {
  EXPECT_EQ(NllRiseOfCache(KvFormat::Both(DType::kF16)), 0);
  EXPECT_EQ(NllRiseOfCache(KvFormat::Both(DType::kQ4)), 0.1059);
  EXPECT_FALSE(NllRiseOfCache(KvFormat::Both(DType::kFp8)));
  EXPECT_FALSE(NllRiseOfCache({.k = DType::kQ8, .v = DType::kQ4}));
}

}  // namespace
}  // namespace attend
