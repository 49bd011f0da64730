// The law firm's case to the printed digit. tests/plan_oracle computes the same figures on its own.
#include "plan/scenario.h"

#include <gmock/gmock.h>

namespace attend {
namespace {

using testing::HasSubstr;

class LawFirmTest : public testing::Test {
 protected:
  const Scenario scenario_ = *LawFirmScenario(30);

  std::string Value(std::string_view quantity) const {
    for (const ScenarioRow& row : scenario_.rows) {
      if (row.quantity.find(quantity) != std::string::npos) return row.value;
    }
    return "no such row";
  }
  const Plan& Decided(size_t i) const { return scenario_.decisions.at(i).plan; }
};

TEST_F(LawFirmTest, EveryQuantityAsPublished) {
  EXPECT_EQ(Value("KV per token"), "163,840 B");
  EXPECT_EQ(Value("KV of 128,000"), "20.97 GB / 104.9 GB");
  EXPECT_EQ(Value("score matrix"), "1.31 TB");
  EXPECT_EQ(Value("attention work"), "1.34e+16 FLOP, 134 s; 67 s causal");
  EXPECT_EQ(Value("linear layers"), "3.33e+15 FLOP, 33 s");
  EXPECT_EQ(Value("attention alone"), "134 s / 16.8 s");
  EXPECT_EQ(Value("with the linear"), "167 s / 50 s");
  EXPECT_EQ(Value("causal half counted"), "100 s / 42 s");
  EXPECT_EQ(Value("three rounds"), "402.7 s attention alone, 502.5 s in all");
  EXPECT_EQ(Value("what decides"), "pieces save 117 s a pass (352 s over three rounds)");
  EXPECT_EQ(Value("decode"), "10.5 ms, 95 tokens/s / 23.5 ms, 43 tokens/s");
  EXPECT_EQ(scenario_.rows[scenario_.rows.size() - 2].value, "26.0 GB");  // weights
  EXPECT_EQ(Value("total"), "47.0 GB, to 62.8 GB");
}

TEST_F(LawFirmTest, BothSidesOfThe30MinutesInOneLine) {
  EXPECT_THAT(scenario_.both_sides, HasSubstr("117 s a pass"));
  EXPECT_THAT(scenario_.both_sides, HasSubstr("30 minutes"));
}

TEST_F(LawFirmTest, TheLargeCardReadsItInOnePass) {
  EXPECT_EQ(Decided(0).verdict, Verdict::kOnePass);
  EXPECT_EQ(Decided(0).memory.total_bytes, 46'971'520'000u);
  EXPECT_EQ(Decided(0).review_minutes, 0);
}

TEST_F(LawFirmTest, TheSmallCardWithTheChoiceFixed) {
  EXPECT_EQ(Decided(1).verdict, Verdict::kPieces);
  EXPECT_EQ(Decided(1).num_pieces, 8);
  EXPECT_EQ(Decided(1).memory.kv_bytes, 2'621'440'000u);
  EXPECT_EQ(Decided(1).review_minutes, 30);
  EXPECT_FALSE(Decided(1).changes.empty());
}

TEST_F(LawFirmTest, TheSmallCardChoosesAndSaysWhatElse) {
  EXPECT_EQ(Decided(2).num_pieces, 3);
  EXPECT_NEAR(static_cast<double>(Decided(2).memory.total_bytes) / 1e9, 33.0, 0.05);
  const Change *q4 = nullptr, *q8 = nullptr;
  for (const Change& change : Decided(2).changes) {
    if (change.what == "--kv q4_0") q4 = &change;
    if (change.what.starts_with("--kv q8_0")) q8 = &change;
  }
  ASSERT_TRUE(q4 != nullptr && q8 != nullptr);
  EXPECT_NEAR(static_cast<double>(q4->total_bytes) / 1e9, 31.9, 0.05);
  EXPECT_FALSE(q4->inside_reserve);
  EXPECT_GT(*q4->nll_rise, 0);
  EXPECT_NEAR(static_cast<double>(q8->total_bytes) / 1e9, 37.1, 0.05);
  EXPECT_TRUE(q8->inside_reserve);
  EXPECT_LT(q4, q8);  // what respects the reserve stands first
}

}  // namespace
}  // namespace attend
