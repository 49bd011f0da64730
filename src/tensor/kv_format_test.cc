#include "tensor/kv_format.h"

#include <gtest/gtest.h>

#include "tensor/cache_descriptor.h"

namespace attend {
namespace {

TEST(KvFormatTest, NamesAreReadAsTheyAreWritten) {
  for (const char* name : {"f32", "bf16", "f16", "q8", "q4", "q8,q4", "q4,q8", "bf16,q8", "q8/32", "q4/32", "q8,q4/32",
                           "q4-h", "q4/32-h", "q4,f16-h", "f32,q4/32"}) {
    const auto format = ParseKvFormat(name);
    ASSERT_TRUE(format) << name;
    EXPECT_EQ(NameOf(*format), name);
  }
}

TEST(KvFormatTest, EqualSidesHaveOneName) {
  EXPECT_EQ(NameOf(*ParseKvFormat("q8,q8")), "q8");
  EXPECT_EQ(*ParseKvFormat("q4,q4"), KvFormat::Both(DType::kQ4));
}

TEST(KvFormatTest, OnlyFourBitKeysAreRotated) {
  EXPECT_TRUE(ParseKvFormat("q4")->rotate_k);
  EXPECT_TRUE(ParseKvFormat("q4,f16")->rotate_k);
  EXPECT_FALSE(ParseKvFormat("q4-h")->rotate_k);
  EXPECT_FALSE(ParseKvFormat("q8,q4")->rotate_k);
}

TEST(KvFormatTest, OtherNamesAreRefused) {
  for (const char* name :
       {"", "q5", "q8,", ",q8", "q8,q4,q4", "Q8", "q8 ", "bf16/32", "q8/64", "q8-h", "q4-h/32", "i8", "q8_0"}) {
    EXPECT_FALSE(ParseKvFormat(name)) << name;
  }
}

// At head_dim 128: a scale of 16 bits for the whole head, or for each 32 values.
TEST(KvFormatTest, BitsOfAValue) {
  const auto bits = [](const char* name) {
    const CacheDescriptor d = {.num_kv_heads = 1, .k_head_dim = 128, .v_head_dim = 128, .format = *ParseKvFormat(name)};
    return static_cast<double>(d.ExactBytesPerToken()) * 8 / 256;
  };
  EXPECT_EQ(bits("f32"), 32);
  EXPECT_EQ(bits("bf16"), 16);
  EXPECT_EQ(bits("q8"), 8.125);
  EXPECT_EQ(bits("q8/32"), 8.5);
  EXPECT_EQ(bits("q4"), 4.125);
  EXPECT_EQ(bits("q4/32"), 4.5);
  EXPECT_EQ(bits("q8,q4"), 6.125);
}

}  // namespace
}  // namespace attend
