#include <bit>
#include <cstring>

#include "base/half.h"
#include "kernels/kernels_test_util.h"
#include "kernels/reference.h"

namespace attend {
namespace {

class ElementwiseTest : public EveryTable {};
ATTEND_FOR_EVERY_TABLE(ElementwiseTest);

constexpr int64_t kLengths = 70;  // lengths 1..70: every tail of every vector

double UlpOf(double value) {
  const float f = static_cast<float>(std::abs(value));
  return double{std::nextafter(f, kInfinity)} - f;
}

TEST_P(ElementwiseTest, ExpIsWithinTwoUlp) {
  double worst = 0;
  float worst_x = 0;
  std::vector<float> x, y;
  const auto check = [&] {
    y.resize(x.size());
    table().exp(x.data(), static_cast<int64_t>(x.size()), y.data());
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = std::exp(double{x[i]});
      const double ulp = std::abs(y[i] - expected) / UlpOf(expected);
      if (!(ulp <= worst)) worst = ulp, worst_x = x[i];
    }
    x.clear();
  };
  for (int i = 0; i <= 400000; ++i) x.push_back(static_cast<float>(-87.3 + i * (87.3 / 400000)));
  for (float& v : x) v = std::max(v, -87.3f);
  check();
  for (int i = 0; i <= 200000; ++i) x.push_back(static_cast<float>(i * (88.0 / 200000)));
  check();
  // Tiny arguments of both signs, and the neighbours of every multiple of ln 2 / 2, where the range reduction changes.
  for (float tiny = 1e-44f; tiny < 1; tiny *= 3) x.insert(x.end(), {tiny, -tiny});
  for (int n = -251; n <= 253; ++n) {
    const float edge = static_cast<float>(n * 0.34657359027997264);
    if (edge > -87.2f) x.insert(x.end(), {edge, std::nextafter(edge, -kInfinity), std::nextafter(edge, kInfinity)});
  }
  check();
  EXPECT_LE(worst, 2.0) << "at x = " << worst_x;
}

TEST_P(ElementwiseTest, ExpOfSpecialValues) {
  const std::vector<float> x = {0.0f,       -0.0f, -87.3f, std::nextafter(-87.3f, -100.0f),
                                -88.0f,     -1e4f, -1e30f, std::numeric_limits<float>::lowest(),
                                -kInfinity, kNan,  -kNan,  200.0f,
                                kInfinity};
  std::vector<float> y(x.size());
  table().exp(x.data(), static_cast<int64_t>(x.size()), y.data());
  EXPECT_EQ(y[0], 1.0f);
  EXPECT_EQ(y[1], 1.0f);
  EXPECT_GT(y[2], 0.0f);
  for (int i = 3; i <= 8; ++i) {
    EXPECT_EQ(y[i], 0.0f) << x[i];
    EXPECT_FALSE(std::signbit(y[i])) << x[i];
  }
  EXPECT_TRUE(std::isnan(y[9]));
  EXPECT_TRUE(std::isnan(y[10]));
  const double capped = std::exp(double{88.3f});
  EXPECT_NEAR(y[11], capped, 3 * UlpOf(capped));
  EXPECT_EQ(y[12], y[11]);
}

TEST_P(ElementwiseTest, ExpNeverFalls) {
  std::vector<float> x, y;
  for (float v = -1.0f; v < -0.98f; v = std::nextafter(v, 0.0f)) x.push_back(v);
  y.resize(x.size());
  table().exp(x.data(), static_cast<int64_t>(x.size()), y.data());
  for (size_t i = 1; i < x.size(); ++i) {
    // Within an ulp: the polynomial is not proven monotonic.
    ASSERT_GE(y[i], std::nextafter(y[i - 1], 0.0f)) << x[i];
  }
}

TEST_P(ElementwiseTest, RmsNormIsTheReference) {
  for (int64_t n = 1; n <= kLengths; ++n) {
    const std::vector<float> x = RandomRow(n, 1, 3.0f), weight = RandomRow(n, 2);
    std::vector<float> out(x.size());
    table().rms_norm(x.data(), weight.data(), 1e-5f, n, out.data());
    const std::vector<double> expected = ReferenceRmsNorm(x, weight, 1e-5f);
    for (int64_t i = 0; i < n; ++i)
      ASSERT_NEAR(out[i], expected[i], (8 + n / 8) * kEps * std::abs(expected[i])) << n << " " << i;
  }
}

TEST_P(ElementwiseTest, RmsNormOfZerosAndOfItsOwnInput) {
  std::vector<float> zeros(37, 0.0f), ones(37, 1.0f), out(37, 5.0f);
  table().rms_norm(zeros.data(), ones.data(), 1e-5f, 37, out.data());
  EXPECT_EQ(out, zeros);
  std::vector<float> x = RandomRow(37, 3), separate(37);
  table().rms_norm(x.data(), ones.data(), 1e-6f, 37, separate.data());
  table().rms_norm(x.data(), ones.data(), 1e-6f, 37, x.data());
  EXPECT_EQ(x, separate);
}

TEST_P(ElementwiseTest, RopeIsTheReference) {
  for (int64_t half = 1; half <= kLengths; ++half) {
    std::vector<float> x = RandomRow(2 * half, 4), cosine(static_cast<size_t>(half)), sine(static_cast<size_t>(half));
    for (int64_t i = 0; i < half; ++i) {
      const double angle = 1234.5 * std::pow(1e4, -static_cast<double>(i) / static_cast<double>(half));
      cosine[i] = static_cast<float>(std::cos(angle));
      sine[i] = static_cast<float>(std::sin(angle));
    }
    const std::vector<double> expected = ReferenceRope(x, cosine, sine);
    const std::vector<float> before = x;
    table().rope(x.data(), cosine.data(), sine.data(), half);
    for (int64_t i = 0; i < 2 * half; ++i) {
      const double size = std::abs(before[i % half]) + std::abs(before[i % half + half]);
      ASSERT_NEAR(x[i], expected[i], 3 * kEps * size) << half << " " << i;
    }
  }
}

TEST_P(ElementwiseTest, SwiGluIsTheReferenceAlsoInPlace) {
  for (int64_t n = 1; n <= kLengths; ++n) {
    std::vector<float> gate = RandomRow(n, 5, 20.0f);
    const std::vector<float> up = RandomRow(n, 6);
    if (n > 3) gate[0] = 0.0f, gate[1] = -80.0f, gate[2] = 80.0f, gate[3] = 300.0f;
    std::vector<float> out(gate.size());
    table().swiglu(gate.data(), up.data(), n, out.data());
    const std::vector<double> expected = ReferenceSwiGlu(gate, up);
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_NEAR(out[i], expected[i], 10 * kEps * std::abs(expected[i]) + 1e-33) << gate[i];
    }
    table().swiglu(gate.data(), up.data(), n, gate.data());
    ASSERT_EQ(gate, out);
  }
  const std::vector<float> ones(4, 1.0f), gate = {-100.0f, -1e30f, kNan, -88.5f};
  std::vector<float> out(4);
  table().swiglu(gate.data(), ones.data(), 4, out.data());
  EXPECT_NEAR(out[0], 0.0f, 1e-36);
  EXPECT_TRUE(std::isnan(out[2]));
  EXPECT_NEAR(out[3], 0.0f, 1e-36);
}

// Every rounding case: all high halves with low halves around the tie, so that exponents, subnormals, infinities and
// NaN with every payload bit are there.
TEST_P(ElementwiseTest, RoundAndPackAreThoseOfBaseBitForBit) {
  std::vector<float> x;
  for (uint32_t high = 0; high < 65536; ++high) {
    for (uint32_t low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      x.push_back(std::bit_cast<float>(high << 16 | low));
  }
  std::vector<float> rounded = x;
  std::vector<uint16_t> packed(x.size());
  table().round_to_bf16(rounded.data(), static_cast<int64_t>(x.size()));
  table().pack_bf16(x.data(), static_cast<int64_t>(x.size()), packed.data());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(rounded[i]), std::bit_cast<uint32_t>(RoundToBf16(x[i])))
        << std::bit_cast<uint32_t>(x[i]);
    ASSERT_EQ(packed[i], FloatToBf16(x[i])) << std::bit_cast<uint32_t>(x[i]);
  }
}

TEST_P(ElementwiseTest, RoundAndPackOfEveryLengthTouchNothingBeyond) {
  for (int64_t n = 1; n <= kLengths; ++n) {
    const std::vector<float> x = RandomRow(n, 7);
    std::vector<float> rounded = x;
    std::vector<uint16_t> packed(static_cast<size_t>(n));
    rounded.push_back(1.00001f);
    packed.push_back(0x1234);
    table().round_to_bf16(rounded.data(), n);
    table().pack_bf16(x.data(), n, packed.data());
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(rounded[i], RoundToBf16(x[i]));
      ASSERT_EQ(packed[i], FloatToBf16(x[i]));
    }
    ASSERT_EQ(rounded.back(), 1.00001f);
    ASSERT_EQ(packed.back(), 0x1234);
  }
}

TEST_P(ElementwiseTest, LogSumExpIsTheReference) {
  for (int64_t n = 1; n <= kLengths; ++n) {
    for (float shift : {0.0f, -500.0f, 500.0f}) {
      std::vector<float> x = RandomRow(n, static_cast<uint32_t>(n), 5.0f);
      for (float& v : x) v += shift;
      const double expected = ReferenceLogSumExp(x);
      ASSERT_NEAR(table().log_sum_exp(x.data(), n), expected, 8 * kEps * std::max(1.0, std::abs(expected))) << n;
    }
  }
  const std::vector<float> large = RandomRow(49152, 8, 7.0f);
  EXPECT_NEAR(table().log_sum_exp(large.data(), 49152), ReferenceLogSumExp(large), 1e-5);
}

TEST_P(ElementwiseTest, LogSumExpOfSpecialValues) {
  for (int64_t n = 1; n <= kLengths; ++n) {
    std::vector<float> x(static_cast<size_t>(n), -kInfinity);
    EXPECT_EQ(table().log_sum_exp(x.data(), n), -kInfinity) << n;
    x[n / 2] = 3.0f;
    EXPECT_EQ(table().log_sum_exp(x.data(), n), 3.0f) << n;
    x[n / 2] = kNan;
    EXPECT_TRUE(std::isnan(table().log_sum_exp(x.data(), n))) << n;
  }
}

// What uses no sum and no FMA has the same bits on every set.
TEST(ElementwiseDifferentialTest, RopeHasTheSameBitsEverywhere) {
  const std::vector<float> start = RandomRow(74, 9), cosine = RandomRow(37, 10), sine = RandomRow(37, 11);
  std::vector<float> first = start;
  TablesHere()[0]->rope(first.data(), cosine.data(), sine.data(), 37);
  for (const KernelTable* table : TablesHere()) {
    std::vector<float> x = start;
    table->rope(x.data(), cosine.data(), sine.data(), 37);
    EXPECT_EQ(std::memcmp(x.data(), first.data(), x.size() * sizeof(float)), 0) << table->name;
  }
}

TEST_P(ElementwiseTest, PeakLoopsReportTheirWork) {
  EXPECT_GT(table().fma_loop(10), 0);
  EXPECT_EQ(table().fma_loop(20), 2 * table().fma_loop(10));
  EXPECT_GT(table().bf16_loop(10), 0);
  std::vector<uint8_t> bytes(4096, 1);
  EXPECT_EQ(table().read_loop(bytes.data(), 4096), 1024u * 0x01010101u);
}

}  // namespace
}  // namespace attend
