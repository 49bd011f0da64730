#include "plan/number_text.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

TEST(NumberText, Numbers) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(163'840), "163,840");
  EXPECT_EQ(Grouped(-1'000'000), "-1,000,000");
  EXPECT_EQ(BytesText(uint64_t{488} << 20), "488 MiB");
  EXPECT_EQ(BytesText(uint64_t{3} << 29), "1.50 GiB");
  EXPECT_EQ(SecondsText(0.42), "0.42 s");
  EXPECT_EQ(SecondsText(59.6), "1 min 0 s");
  EXPECT_EQ(SecondsText(75), "1 min 15 s");
  EXPECT_EQ(SecondsText(5400), "1.5 h");
  EXPECT_EQ(SecondsText(1e300).substr(0, 4), "1157");
}

}  // namespace
}  // namespace attend
