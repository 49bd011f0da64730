#include "plan/capacity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "plan/plan_test_util.h"

namespace attend {
namespace {

// The wait of each of many arrivals, by what happens to them one after another.
double SimulatedP95(double rho) {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> gap(rho);
  std::vector<double> waits;
  double arrival = 0, free_at = 0;
  for (int i = 0; i < 2'000'000; ++i) {
    arrival += gap(random);
    waits.push_back(std::max(0.0, free_at - arrival));
    free_at = std::max(free_at, arrival) + 1;
  }
  const auto at = waits.begin() + static_cast<std::ptrdiff_t>(waits.size() * 95 / 100);
  std::nth_element(waits.begin(), at, waits.end());
  return *at;
}

TEST(Capacity, TheWaitIsThatOfSimulatedArrivals) {
  for (double rho : {0.2, 0.5, 0.8, 0.9}) {
    const double expected = SimulatedP95(rho);
    EXPECT_NEAR(WaitP95(rho / 10, 10), 10 * expected, 0.4 * expected + 0.2) << rho;
  }
  EXPECT_EQ(WaitP95(0.04, 1), 0);
  EXPECT_EQ(WaitP95(0, 1), 0);
  EXPECT_GT(WaitP95(0.999, 1), WaitP95(0.99, 1));
}

TEST(Capacity, DocumentsAtOnceFillTheMemory) {
  PlanRequest r = SmallRequest(7500);
  r.calibration = TwoSmallCores();
  const Plan plan = *MakePlan(r);
  const Capacity c = CapacityOf(r, plan, {});
  r.runtime.concurrent = c.most_at_once;
  EXPECT_EQ(MakePlan(r)->verdict, Verdict::kOnePass);
  ++r.runtime.concurrent;
  EXPECT_NE(MakePlan(r)->verdict, Verdict::kOnePass);
}

TEST(Capacity, RatesAndPrices) {
  PlanRequest r = SmallRequest(7500);
  EXPECT_FALSE(CapacityOf(r, *MakePlan(r), {.documents_per_hour = 1}).documents_per_hour);
  r.calibration = TwoSmallCores();
  const Plan plan = *MakePlan(r);
  const double each_s = plan.times->total_s.expected;
  const Capacity c = CapacityOf(r, plan, {.documents_per_hour = 1800 / each_s, .price_per_hour = 7.2});
  EXPECT_DOUBLE_EQ(*c.documents_per_hour, 3600 / each_s);
  EXPECT_DOUBLE_EQ(*c.price_per_document, 7.2 * each_s / 3600);
  EXPECT_DOUBLE_EQ(*c.utilisation, 0.5);
  EXPECT_GT(*c.first_token_p95_s, plan.times->prefill_s.expected);
  EXPECT_FALSE(CapacityOf(r, plan, {.documents_per_hour = 3601 / each_s}).first_token_p95_s);
}

// Weights are read once for all: eight answers take less than eight times one.
TEST(Capacity, DocumentsAtOnceShareTheWeights) {
  PlanRequest r = SmallRequest(512);
  r.memory_limit_bytes = uint64_t{8} << 30;
  r.calibration = TwoSmallCores();
  const PlanTimes one = *MakePlan(r)->times;
  r.runtime.concurrent = 8;
  const PlanTimes eight = *MakePlan(r)->times;
  EXPECT_DOUBLE_EQ(eight.prefill_s.expected, 8 * one.prefill_s.expected);
  EXPECT_LT(eight.decode_s.expected, 4 * one.decode_s.expected);
}

}  // namespace
}  // namespace attend
