#include "document/evidence.h"

#include <gtest/gtest.h>

#include "document/evidence_heads.h"

namespace attend {
namespace {

struct Case {
  const char* what;
  AnswerSignals signals;
  bool nothing;
};

// Rounded from questions of tests/data/dev.
constexpr Case kCases[] = {
    {"all rules agree, every word stands there", {1.0, 1.0, 4.2}, false},
    {"all rules agree, few words", {1.0, 0.26, 2.2}, false},
    {"two rules agree, half of the words", {0.95, 0.52, 2.0}, false},
    {"rules disagree, no word stands there", {0.54, 0.0, 0.4}, true},
    {"words only, and the model sees nothing", {0.63, 0.26, -0.2}, true},
    {"two rules agree on a passage without a word of the question", {0.75, 0.0, 1.8}, true},
};

TEST(Evidence, SaysWhenNothingAnswers) {
  for (const Case& c : kCases) EXPECT_EQ(ConfidenceOf(c.signals) < kLeastConfidence, c.nothing) << c.what;
}

TEST(Evidence, EverySignalRaisesConfidence) {
  const double base = ConfidenceOf({.agreement = 0.8, .coverage = 0.3, .deviations = 1});
  EXPECT_GT(ConfidenceOf({.agreement = 0.9, .coverage = 0.3, .deviations = 1}), base);
  EXPECT_GT(ConfidenceOf({.agreement = 0.8, .coverage = 0.4, .deviations = 1}), base);
  EXPECT_GT(ConfidenceOf({.agreement = 0.8, .coverage = 0.3, .deviations = 2}), base);
}

TEST(Evidence, HeadsOfKnownModelsOnly) {
  ModelHeader header;
  EXPECT_TRUE(RetrievalHeads(header).empty());
  header.num_layers = 30;
  header.num_q_heads = 9;
  header.num_kv_heads = 3;
  header.hidden_size = 576;
  header.vocab_size = 49152;
  ASSERT_FALSE(RetrievalHeads(header).empty());
  for (const HeadAddress& address : RetrievalHeads(header)) {
    EXPECT_LT(address.layer, 30);
    EXPECT_LT(address.head, 9);
  }
}

}  // namespace
}  // namespace attend
