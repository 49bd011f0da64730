#include "plan/policy.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

TEST(Policy, EveryNameIsFoundAgain) {
  for (Policy policy : AllPolicies()) {
    EXPECT_EQ(FindPolicy(NameOf(policy)), policy);
    EXPECT_FALSE(DescriptionOf(policy).empty());
    EXPECT_TRUE(ParseKvFormat(policy, NameOf(DefaultKvFormat(policy)))) << NameOf(policy);
  }
  EXPECT_FALSE(FindPolicy("hf"));
}

TEST(Policy, Q8AndQ4AreTheRuntimesOwn) {
  EXPECT_EQ(ParseKvFormat(Policy::kOurs, "q8")->k, DType::kQ8);
  EXPECT_EQ(ParseKvFormat(Policy::kFormula, "q8")->k, DType::kQ8_0);
  EXPECT_EQ(ParseKvFormat(Policy::kLlamaCpp, "q4")->v, DType::kQ4_0);
  EXPECT_EQ(ParseKvFormat(Policy::kVllm, "q8")->k, DType::kFp8);
  EXPECT_EQ(ParseKvFormat(Policy::kLlamaCpp, "q8_0,q4_0")->v, DType::kQ4_0);
}

TEST(Policy, AFormatThatTheRuntimeLacksIsNone) {
  EXPECT_FALSE(ParseKvFormat(Policy::kVllm, "q4"));
  EXPECT_FALSE(ParseKvFormat(Policy::kHfSdpa, "q8_0"));
  EXPECT_FALSE(ParseKvFormat(Policy::kOurs, "q8_0"));
  EXPECT_FALSE(ParseKvFormat(Policy::kLlamaCpp, "fp8"));
  for (const char* name : {"", ",", "q8_0,", "int2"}) EXPECT_FALSE(ParseKvFormat(Policy::kFormula, name)) << name;
}

}  // namespace
}  // namespace attend
