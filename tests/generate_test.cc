// Greedy generation ends: at a stop token, at the limit, when the caller says so, and when it starts to repeat itself.
#include "model/generate.h"

#include <algorithm>

#include "tests/golden_util.h"

namespace attend {
namespace {

class Generating : public ::testing::Test {
 protected:
  // Of the tiny model after three tokens; as many as it is trained on would fit.
  Generation Run(const GenerateOptions& options, const std::function<bool(uint32_t)>& on_token = {}) {
    KvCache cache = runner_.Cache();
    const std::vector<uint32_t> prompt = {5, 6, 7};
    const auto logits = Prefill(*runner_.transformer, cache, prompt);
    EXPECT_TRUE(logits);
    auto generation = Generate(*runner_.transformer, cache, *logits, options, on_token);
    EXPECT_TRUE(generation) << (generation ? "" : Describe(generation.error()));
    return *generation;
  }

  const Runner runner_{GoldenPath("models/llama"), Isa::kScalar, Compute::kF32};
};

TEST_F(Generating, StopsBeforeItRepeatsAndLosesNothingElse) {
  constexpr int64_t kTokens = 400, kRepetition = 2;
  const Generation endless = Run({.max_tokens = kTokens, .stop_ids = {}, .repetition_tokens = 0});
  EXPECT_EQ(endless.finish, FinishReason::kLength);
  ASSERT_EQ(endless.ids.size(), static_cast<size_t>(kTokens));

  const Generation stopped = Run({.max_tokens = kTokens, .stop_ids = {}, .repetition_tokens = kRepetition});
  ASSERT_EQ(stopped.finish, FinishReason::kRepetition);  // some pair of 160 tokens comes again
  ASSERT_LT(stopped.ids.size() + kRepetition, endless.ids.size());
  EXPECT_TRUE(std::equal(stopped.ids.begin(), stopped.ids.end(), endless.ids.begin()));
  // What was taken off stands earlier in the text.
  const auto cut = endless.ids.begin() + static_cast<std::ptrdiff_t>(stopped.ids.size());
  EXPECT_NE(std::search(endless.ids.begin(), cut + kRepetition - 1, cut, cut + kRepetition), cut + kRepetition - 1);
}

TEST_F(Generating, StopsAtAStopTokenAndDoesNotShowIt) {
  const Generation free = Run({.max_tokens = 6, .stop_ids = {}, .repetition_tokens = 0});
  const uint32_t stop = free.ids.back();
  const auto first = std::find(free.ids.begin(), free.ids.end(), stop);
  const Generation stopped = Run({.max_tokens = 6, .stop_ids = {&stop, 1}, .repetition_tokens = 0});
  EXPECT_EQ(stopped.finish, FinishReason::kStop);
  EXPECT_EQ(stopped.ids, std::vector<uint32_t>(free.ids.begin(), first));
}

TEST_F(Generating, StopsWhenTheCallerSaysSo) {
  int shown = 0;
  const Generation stopped = Run({.max_tokens = 6, .stop_ids = {}}, [&](uint32_t) { return ++shown < 3; });
  EXPECT_EQ(stopped.finish, FinishReason::kInterrupted);
  EXPECT_EQ(stopped.ids.size(), 3u);
}

}  // namespace
}  // namespace attend
