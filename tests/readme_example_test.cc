// The library example of README.md is examples/attention.cc, compiled here, and what it prints is what README.md shows.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/doc_block.h"

#define main AttendExampleMain
#include "examples/attention.cc"
#undef main

namespace attend {
namespace {

TEST(ReadmeExample, ShowsTheProgramThatIsCompiled) {
  const std::string block = "```cpp\n" + ReadSourceFile("examples/attention.cc") + "```\n";
  ExpectDocBlock("README.md", "example", block);
  ExpectDocBlock("README.zh-CN.md", "example", block);
}

TEST(ReadmeExample, ShowsWhatItPrints) {
  ::testing::internal::CaptureStdout();
  const int status = AttendExampleMain();
  std::fflush(stdout);
  const std::string block = "```text\n" + ::testing::internal::GetCapturedStdout() + "```\n";
  EXPECT_EQ(status, 0);
  ExpectDocBlock("README.md", "example output", block);
  ExpectDocBlock("README.zh-CN.md", "example output", block);
}

// The first head by hand: scores (1, 0, 1) / sqrt(2).
TEST(ReadmeExample, IsRight) {
  const float q[] = {1, 0, 0, 2}, k[] = {1, 0, 0, 1, 1, 1}, v[] = {1, 2, 3, 4, 5, 6};
  Context context;
  const auto result = Attention({.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 2}, q, k, v, context);
  ASSERT_TRUE(result) << Describe(result.error());
  const double e = std::exp(1 / std::sqrt(2.0)), sum = 2 * e + 1;
  EXPECT_NEAR(result->out[0], (e * 1 + 3 + e * 5) / sum, 1e-5);
  EXPECT_NEAR(result->out[1], (e * 2 + 4 + e * 6) / sum, 1e-5);
  EXPECT_NEAR(result->lse[0], std::log(sum), 1e-6);
}

TEST(ReadmeExample, LengthsThatDoNotFitAreRefused) {
  const float x[] = {1, 2, 3, 4};
  Context context;
  const Heads heads = {.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 2};
  const auto values = std::span(x);
  EXPECT_EQ(Attention(heads, values.first(3), values, values, context).error().code, ErrorCode::kAttentionBadShape);
  EXPECT_EQ(Attention(heads, values, values, values.first(2), context).error().code, ErrorCode::kAttentionBadShape);
  EXPECT_EQ(Attention({}, values, values, values, context).error().code, ErrorCode::kAttentionBadShape);
}

}  // namespace
}  // namespace attend
