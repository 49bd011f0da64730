#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace attend {
namespace {

// Rounds to a format with `digits` significant bits and smallest normal exponent `lowest`, ties to even; overflow from
// 2^highest on.
double RoundedTo(double x, int digits, int lowest, int highest) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), lowest);
  const double quantum = std::ldexp(1.0, exponent - digits + 1);
  const double rounded = std::nearbyint(x / quantum) * quantum;  // both exact in double
  return std::abs(rounded) >= std::ldexp(1.0, highest) ? std::copysign(HUGE_VAL, x) : rounded;
}
double AsHalf(double x) {
  return RoundedTo(x, 11, -14, 16);
}
double AsBf16(double x) {
  return RoundedTo(x, 8, -126, 128);
}

TEST(HalfTest, EveryF16PatternRoundTrips) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    const float value = HalfToFloat(half);
    if ((half & 0x7fff) > 0x7c00) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(HalfToFloat(FloatToHalf(value)))) << bits;
      ASSERT_EQ(FloatToHalf(value) & 0x8000, half & 0x8000) << bits;
    } else {
      ASSERT_EQ(FloatToHalf(value), half) << bits;
    }
  }
}

TEST(HalfTest, EveryF16PatternIsItsDefinition) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31), mantissa = static_cast<int>(bits & 1023);
    if (exponent == 31) continue;
    const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    ASSERT_EQ(HalfToFloat(static_cast<uint16_t>(bits)), bits & 0x8000 ? -magnitude : magnitude) << bits;
  }
  EXPECT_EQ(HalfToFloat(0x7c00), HUGE_VALF);
  EXPECT_EQ(HalfToFloat(0xfc00), -HUGE_VALF);
  EXPECT_TRUE(std::signbit(HalfToFloat(0x8000)));
}

TEST(HalfTest, EveryBf16PatternRoundTrips) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const uint16_t brain = static_cast<uint16_t>(bits);
    const float value = Bf16ToFloat(brain);
    if ((brain & 0x7fff) > 0x7f80) {
      ASSERT_TRUE(std::isnan(value) && std::isnan(RoundToBf16(value))) << bits;
      ASSERT_EQ(FloatToBf16(value), brain | 0x40) << bits;
    } else {
      ASSERT_EQ(FloatToBf16(value), brain) << bits;
      ASSERT_EQ(std::bit_cast<uint32_t>(RoundToBf16(value)), std::bit_cast<uint32_t>(value)) << bits;
    }
  }
}

void ExpectRounded(float x) {
  ASSERT_EQ(RoundToBf16(x), AsBf16(x)) << std::hexfloat << x;
  ASSERT_EQ(HalfToFloat(FloatToHalf(x)), AsHalf(x)) << std::hexfloat << x;
  ASSERT_EQ(std::signbit(HalfToFloat(FloatToHalf(x))), std::signbit(x)) << std::hexfloat << x;
}

TEST(HalfTest, RandomFloatsRoundToNearestEven) {
  std::mt19937 random(1);
  for (int i = 0; i < 2'000'000; ++i) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(x)) ExpectRounded(x);
  }
  std::uniform_real_distribution<float> near(-2e-4f, 2e-4f),
      ordinary(-70000.0f, 70000.0f);  // f16's subnormals; its range
  for (int i = 0; i < 500'000; ++i) ExpectRounded(near(random)), ExpectRounded(ordinary(random));
}

// Midway between neighbours and one float to each side.
TEST(HalfTest, TiesGoToEven) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const double low = HalfToFloat(static_cast<uint16_t>(bits)),
                 high = bits == 0x7bff ? 65536.0 : HalfToFloat(static_cast<uint16_t>(bits + 1));
    const float middle = static_cast<float>((low + high) / 2);
    for (float x : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, HUGE_VALF)})
      ExpectRounded(x), ExpectRounded(-x);
  }
  for (uint32_t bits = 0; bits < 0x7f80; ++bits) {
    for (uint32_t low : {0x7fffu, 0x8000u, 0x8001u}) {
      const float x = std::bit_cast<float>(bits << 16 | low);
      ASSERT_EQ(RoundToBf16(x), AsBf16(x)) << std::hexfloat << x;
    }
  }
}

TEST(HalfTest, NanAndInfinityKeepTheirClass) {
  for (uint32_t payload : {0x7fc00000u, 0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffc12345u}) {
    const float nan = std::bit_cast<float>(payload);
    EXPECT_TRUE(std::isnan(RoundToBf16(nan)));
    EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(nan))));
  }
  EXPECT_EQ(FloatToBf16(HUGE_VALF), 0x7f80);
  EXPECT_EQ(FloatToHalf(-HUGE_VALF), 0xfc00);
  EXPECT_EQ(FloatToHalf(65519.99f), 0x7bff);
  EXPECT_EQ(FloatToHalf(65520.0f), 0x7c00);
}

}  // namespace
}  // namespace attend
