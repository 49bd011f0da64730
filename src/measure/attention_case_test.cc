#include "measure/attention_case.h"

#include <gtest/gtest.h>

#include "measure/case_data.h"

namespace attend {
namespace {

Result<std::vector<AttentionCase>> Parse(std::string_view line) {
  return ParseAttentionCases(line, {});
}

TEST(AttentionCaseTest, WordsFillTheCase) {
  const auto cases =
      Parse("heads=9/3 dim=192/128 q=1,7 kv=20,30 mask=causal_top_left window=5,-1 bias=bf16:hk cache=q8,q4/32");
  ASSERT_TRUE(cases) << Describe(cases.error());
  ASSERT_EQ(cases->size(), 1u);
  const AttentionCase& c = (*cases)[0];
  EXPECT_EQ(c.num_q_heads, 9);
  EXPECT_EQ(c.num_kv_heads, 3);
  EXPECT_EQ(c.head_dim, 192);
  EXPECT_EQ(c.v_head_dim, 128);
  EXPECT_EQ(c.q_lens, (std::vector<int64_t>{1, 7}));
  EXPECT_EQ(c.kv_lens, (std::vector<int64_t>{20, 30}));
  EXPECT_EQ(c.alignment, MaskAlignment::kTopLeft);
  EXPECT_EQ(c.window_left, 5);
  EXPECT_EQ(c.window_right, -1);
  EXPECT_EQ(c.bias_axes, "hk");
  EXPECT_EQ(NameOf(c.format), "q8,q4/32");
}

TEST(AttentionCaseTest, BracesStandForEveryCombination) {
  const auto cases = Parse("q={1|2|3} kv=9 softcap={0|30} cache=q8");
  ASSERT_TRUE(cases);
  ASSERT_EQ(cases->size(), 6u);
  EXPECT_EQ((*cases)[0].text, "q=1 kv=9 softcap=0 cache=q8");
  EXPECT_EQ((*cases)[5].text, "q=3 kv=9 softcap=30 cache=q8");
}

TEST(AttentionCaseTest, KeysAreAsManyAsQueriesUnlessSaid) {
  EXPECT_EQ((*Parse("q=5,6"))[0].kv_lens, (std::vector<int64_t>{5, 6}));
}

TEST(AttentionCaseTest, WhatIsNoCaseIsRefusedByItsWord) {
  for (const char* word : {"head=4",     "heads",       "heads=4/",   "heads=a/b",
                           "q=",         "q=1,",        "q=-1",       "q=99999999999999999999",
                           "mask=maybe", "bias=f32",    "bias=f64:h", "bias=f32:x",
                           "out=f16",    "padding=up",  "tiles=101",  "softcap=x",
                           "cache=q5",   "compute=f16", "layout=",    "alibi=yes",
                           "prefix=-1",  "docs=-2",     "=",          "seed=-1"}) {
    const auto cases = Parse(std::string("heads=2/1 ") + word);
    ASSERT_FALSE(cases) << word;
    EXPECT_EQ(cases.error().code, ErrorCode::kBadArgument) << word;
  }
  EXPECT_FALSE(Parse("q={1|2"));
  EXPECT_FALSE(Parse("q={1|2|3|4|5|6|7|8|9|10} kv={1|2|3|4|5|6|7|8|9|10} dim={1|2|3|4|5|6|7|8|9|10} seed={1|2}"));
}

TEST(AttentionCaseTest, CasesThatCannotBeMadeAreRefused) {
  for (const char* line : {"heads=-1/1", "heads=0/0", "heads=5/2", "heads=70000/1", "dim=0", "dim=577", "q=1,2 kv=1",
                           "q=4294967297", "heads=64/64 dim=576 q=1 kv=4294967296", "dim=-4"}) {
    const auto cases = Parse(line);
    if (!cases) continue;
    EXPECT_FALSE(CaseData::Make((*cases)[0], 1)) << line;
  }
}

}  // namespace
}  // namespace attend
