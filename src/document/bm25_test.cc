#include "document/bm25.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attend {
namespace {

TEST(Bm25, FollowsTheFormula) {
  const Bm25Index index({"red red apple", "green apple", "blue"});
  // N = 3, df(red) = 1: idf = ln(1 + 2.5 / 1.5). tf = 2, |d| = 3, mean 2: norm = 1.2 * (0.25 + 0.75 * 1.5) = 1.65.
  const double expected = std::log(1 + 2.5 / 1.5) * 2 * 2.2 / (2 + 1.65);
  EXPECT_NEAR(index.Scores("red")[0], expected, 1e-12);
  EXPECT_EQ(index.Scores("red")[1], 0);
  EXPECT_EQ(index.Scores("red red"), index.Scores("red"));
}

TEST(Bm25, PrefersRareWordsAndShortTexts) {
  const Bm25Index index(
      {"the fee is paid in march", "the fee is paid in march and april and also in may", "the fee", "fees rise"});
  const std::vector<double> march = index.Scores("Which fees are due in March?");
  EXPECT_GT(march[0], march[1]);
  EXPECT_GT(march[1], march[2]);
}

TEST(Bm25, CoverageWeighsWordsByRarity) {
  const Bm25Index index({"apple pear", "apple", "apple plum"});
  const std::vector<double> coverage = index.Coverage("apple pear");
  EXPECT_NEAR(coverage[0], 1, 1e-12);
  EXPECT_GT(coverage[1], 0);
  EXPECT_LT(coverage[1], 0.2);
  EXPECT_EQ(coverage[1], coverage[2]);
  EXPECT_LT(index.Coverage("pear melon")[0], 0.6);  // a word that is nowhere weighs most
}

TEST(Bm25, NothingToSearchFor) {
  EXPECT_EQ(Bm25Index({"a b", "c"}).Scores("what is it?"), (std::vector<double>{0, 0}));
  EXPECT_EQ(Bm25Index({"a b", "c"}).Coverage(""), (std::vector<double>{0, 0}));
  EXPECT_TRUE(Bm25Index({}).Scores("x").empty());
  EXPECT_EQ(Bm25Index({""}).Scores("x"), (std::vector<double>{0}));
}

TEST(Bm25, FindsChineseWords) {
  const Bm25Index index({"费用应按月支付", "合同期为两年", "争议由法院处理"});
  const std::vector<double> scores = index.Scores("合同期多长");
  EXPECT_GT(scores[1], scores[0]);
  EXPECT_GT(scores[1], scores[2]);
}

}  // namespace
}  // namespace attend
