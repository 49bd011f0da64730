#include "attention/state.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "kernels/kernels_test_util.h"

namespace attend {
namespace {

constexpr int64_t kWidth = 5;

struct OwnedState {
  std::vector<float> out = std::vector<float>(kWidth, 0.0f);
  float lse = -kInfinity;
  AttentionState view() const { return {out.data(), lse}; }
};

OwnedState Merge(const std::vector<OwnedState>& states) {
  std::vector<AttentionState> views;
  for (const OwnedState& s : states) views.push_back(s.view());
  OwnedState merged;
  merged.out.assign(kWidth, 9.0f);
  merged.lse = MergeStates(views, kWidth, merged.out.data());
  return merged;
}

OwnedState AnyState() {
  if (*rc::gen::inRange(0, 5) == 0) return {};
  const float lse = static_cast<float>(*rc::gen::inRange(-200, 200)) * 0.37f;
  return {RandomRow(kWidth, *rc::gen::inRange<uint32_t>(1, 1000)), lse};
}

bool Near(const OwnedState& a, const OwnedState& b) {
  bool near = a.lse == b.lse || std::abs(a.lse - b.lse) <= 1e-4;
  for (int64_t i = 0; i < kWidth; ++i) near &= std::abs(a.out[i] - b.out[i]) <= 1e-4;
  return near;
}

RC_GTEST_PROP(StateTest, MergingIsAssociative, ()) {
  const OwnedState a = AnyState(), b = AnyState(), c = AnyState();
  const OwnedState all = Merge({a, b, c});
  RC_ASSERT(Near(Merge({Merge({a, b}), c}), all));
  RC_ASSERT(Near(Merge({a, Merge({b, c})}), all));
  RC_ASSERT(Near(Merge({c, a, b}), all));
}

// out = sum exp(lse_i - lse) out_i with lse = ln sum exp(lse_i), in double.
RC_GTEST_PROP(StateTest, MergedStateIsTheFormula, ()) {
  const std::vector<OwnedState> states = {AnyState(), AnyState(), AnyState(), AnyState()};
  const OwnedState merged = Merge(states);
  double sum = 0, out[kWidth] = {};
  for (const OwnedState& s : states) {
    sum += std::exp(double{s.lse});
    for (int64_t i = 0; i < kWidth; ++i) out[i] += std::exp(double{s.lse}) * s.out[i];
  }
  if (sum == 0) {
    RC_ASSERT(merged.lse == -kInfinity);
    return;
  }
  RC_ASSERT(std::abs(merged.lse - std::log(sum)) <= 1e-4);
  for (int64_t i = 0; i < kWidth; ++i) RC_ASSERT(std::abs(merged.out[i] - out[i] / sum) <= 1e-5);
}

TEST(StateTest, EmptyStateChangesNothing) {
  const OwnedState state{RandomRow(kWidth, 1), 2.5f};
  for (const auto& states :
       {std::vector{state}, std::vector{OwnedState{}, state}, std::vector{state, OwnedState{}, OwnedState{}}}) {
    const OwnedState merged = Merge(states);
    EXPECT_EQ(merged.out, state.out);
    EXPECT_EQ(merged.lse, state.lse);
  }
}

TEST(StateTest, AllEmptyIsEmpty) {
  for (const auto& states : {std::vector<OwnedState>{}, std::vector(1, OwnedState{}), std::vector(3, OwnedState{})}) {
    const OwnedState merged = Merge(states);
    EXPECT_EQ(merged.out, OwnedState{}.out);
    EXPECT_EQ(merged.lse, -kInfinity);
  }
}

TEST(StateTest, NanInAStateReachesTheResult) {
  const OwnedState good{RandomRow(kWidth, 2), 1.0f};
  OwnedState bad_lse{RandomRow(kWidth, 3), kNan}, bad_out{RandomRow(kWidth, 4), -300.0f};
  bad_out.out[2] = kNan;
  for (const auto& states :
       {std::vector{good, bad_lse}, std::vector{bad_lse, good}, std::vector{bad_lse, OwnedState{}}}) {
    const OwnedState merged = Merge(states);
    EXPECT_TRUE(std::isnan(merged.lse));
    for (float x : merged.out) EXPECT_TRUE(std::isnan(x));
  }
  const OwnedState merged = Merge({good, bad_out});  // although its weight is 0
  for (int64_t i = 0; i < kWidth; ++i) EXPECT_EQ(std::isnan(merged.out[i]), i == 2);
}

TEST(StateTest, LargeLsesDoNotOverflow) {
  const OwnedState a{std::vector<float>(kWidth, 1.0f), 9000.0f}, b{std::vector<float>(kWidth, 3.0f), 9000.0f};
  const OwnedState merged = Merge({a, b});
  for (float x : merged.out) EXPECT_EQ(x, 2.0f);
  EXPECT_FLOAT_EQ(merged.lse, 9000.6931f);
}

}  // namespace
}  // namespace attend
