#include "plan/scaled_speeds.h"

#include <gtest/gtest.h>

#include "plan/plan_test_util.h"

namespace attend {
namespace {

DeviceProfile Processor(const char* name, double peak, double bandwidth) {
  DeviceProfile device;
  device.name = name;
  device.is_cpu = true;
  device.bandwidth_bytes_per_s = bandwidth;
  device.peaks = {{DType::kF32, peak}};
  return device;
}

TEST(ScaledSpeeds, WorkByThePeaksAndReadsByTheBandwidths) {
  const Calibration here = TwoSmallCores();
  const auto scaled = ScaledSpeeds(here, Processor("here", 1e11, 2e10), Processor("there", 8e11, 1e11));
  ASSERT_TRUE(scaled);
  EXPECT_DOUBLE_EQ(scaled->linear_flops_per_s, 8 * here.linear_flops_per_s);
  EXPECT_DOUBLE_EQ(scaled->attention_flops_per_s, 8 * here.attention_flops_per_s);
  EXPECT_DOUBLE_EQ(scaled->element_s_per_token, here.element_s_per_token / 8);
  EXPECT_DOUBLE_EQ(scaled->weight_bytes_per_s, 5 * here.weight_bytes_per_s);
  EXPECT_DOUBLE_EQ(scaled->kv_bytes_per_s, 5 * here.kv_bytes_per_s);
  EXPECT_EQ(scaled->spread.high, kStatedSpread.high);
  EXPECT_EQ(scaled->cpu_name, "there, scaled from two small cores");
}

TEST(ScaledSpeeds, NothingWithoutAPeak) {
  EXPECT_FALSE(ScaledSpeeds(TwoSmallCores(), Processor("here", 0, 2e10), Processor("there", 8e11, 1e11)));
  EXPECT_FALSE(ScaledSpeeds(TwoSmallCores(), Processor("here", 1e11, 2e10), Processor("there", 0, 1e11)));
}

}  // namespace
}  // namespace attend
