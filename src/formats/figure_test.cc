#include "formats/figure.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

struct Accepted {
  const char* text;
  FigureUnit unit;
  double value;
};

TEST(Figure, EverySpellingHasOneValue) {
  const Accepted cases[] = {
      {"1 B", FigureUnit::kBytes, 1},
      {"2 KB", FigureUnit::kBytes, 2e3},
      {"2 kB", FigureUnit::kBytes, 2e3},
      {"3 MB", FigureUnit::kBytes, 3e6},
      {"80 GB", FigureUnit::kBytes, 80e9},
      {"80GB", FigureUnit::kBytes, 80e9},
      {"1.5 TB", FigureUnit::kBytes, 1.5e12},
      {"2 KiB", FigureUnit::kBytes, 2048},
      {"3 MiB", FigureUnit::kBytes, 3 * 1048576.0},
      {"64 GiB", FigureUnit::kBytes, 64 * 1073741824.0},
      {"1 TiB", FigureUnit::kBytes, 0x1p40},
      {"2039 GB/s", FigureUnit::kBytesPerSecond, 2039e9},
      {"2 TB/s", FigureUnit::kBytesPerSecond, 2e12},
      {"100 GiB/s", FigureUnit::kBytesPerSecond, 100 * 0x1p30},
      {"312 TFLOP/s", FigureUnit::kFlopsPerSecond, 312e12},
      {"312TFLOPS", FigureUnit::kFlopsPerSecond, 312e12},
      {"896 GFLOPs", FigureUnit::kFlopsPerSecond, 896e9},
      {"1.98 PFLOP/s", FigureUnit::kFlopsPerSecond, 1.98e15},
      {"5 FLOP/s", FigureUnit::kFlopsPerSecond, 5},
      {"624 TOP/s", FigureUnit::kOpsPerSecond, 624e12},
      {"624 TOPS", FigureUnit::kOpsPerSecond, 624e12},
      {"60 %", FigureUnit::kShare, 0.6},
      {"62.5%", FigureUnit::kShare, 0.625},
  };
  for (const Accepted& c : cases) {
    const auto value = ParseFigure(c.text, c.unit);
    ASSERT_TRUE(value) << c.text;
    EXPECT_DOUBLE_EQ(*value, c.value) << c.text;
    EXPECT_FALSE(RangeMissed(*value, c.unit)) << c.text;
  }
}

TEST(Figure, WhatCouldMeanTwoThingsOrAnotherUnitIsRefused) {
  const std::pair<const char*, FigureUnit> cases[] = {
      {"", FigureUnit::kBytes},
      {"80", FigureUnit::kBytes},
      {"GB", FigureUnit::kBytes},
      {"80 G", FigureUnit::kBytes},
      {"80 Gb", FigureUnit::kBytes},
      {"80 gb", FigureUnit::kBytes},
      {"80  GB", FigureUnit::kBytes},
      {"80 GB ", FigureUnit::kBytes},
      {" 80 GB", FigureUnit::kBytes},
      {"80,5 GB", FigureUnit::kBytes},
      {"+80 GB", FigureUnit::kBytes},
      {"0x10 GB", FigureUnit::kBytes},
      {"80 GB/s", FigureUnit::kBytes},
      {"nan GB", FigureUnit::kBytes},
      {"inf GB", FigureUnit::kBytes},
      {"1e999 GB", FigureUnit::kBytes},
      {"2 TB", FigureUnit::kBytesPerSecond},
      {"2 Tbit/s", FigureUnit::kBytesPerSecond},
      {"2 TBps", FigureUnit::kBytesPerSecond},
      {"312 TFLOP/s", FigureUnit::kBytesPerSecond},
      {"312 T", FigureUnit::kFlopsPerSecond},
      {"312 TFLOP", FigureUnit::kFlopsPerSecond},
      {"312 TiFLOP/s", FigureUnit::kFlopsPerSecond},
      {"312 tflops", FigureUnit::kFlopsPerSecond},
      {"624 TOP/s", FigureUnit::kFlopsPerSecond},
      {"624 TFLOP/s", FigureUnit::kOpsPerSecond},
      {"0.6", FigureUnit::kShare},
      {"60 K%", FigureUnit::kShare},
      {"60 % of it", FigureUnit::kShare},
  };
  for (const auto& [text, unit] : cases) EXPECT_FALSE(ParseFigure(text, unit)) << text;
}

TEST(Figure, NonsenseIsOutsideItsRange) {
  const std::pair<const char*, FigureUnit> cases[] = {
      {"-1 GB", FigureUnit::kBytes},
      {"0 GB", FigureUnit::kBytes},
      {"0.5 B", FigureUnit::kBytes},
      {"1025 TiB", FigureUnit::kBytes},
      {"0 B/s", FigureUnit::kBytesPerSecond},
      {"1000001 TB/s", FigureUnit::kBytesPerSecond},
      {"-2 TB/s", FigureUnit::kBytesPerSecond},
      {"0 TFLOP/s", FigureUnit::kFlopsPerSecond},
      {"1001 EFLOP/s", FigureUnit::kFlopsPerSecond},
      {"1001 EOP/s", FigureUnit::kOpsPerSecond},
      {"0 %", FigureUnit::kShare},
      {"-5 %", FigureUnit::kShare},
      {"101 %", FigureUnit::kShare},
      {"1e-9 %", FigureUnit::kShare},
  };
  for (const auto& [text, unit] : cases) {
    const auto value = ParseFigure(text, unit);
    ASSERT_TRUE(value) << text;
    EXPECT_TRUE(RangeMissed(*value, unit)) << text;
  }
}

TEST(Figure, TheEndsOfARangeAreInIt) {
  EXPECT_FALSE(RangeMissed(*ParseFigure("1024 TiB", FigureUnit::kBytes), FigureUnit::kBytes));
  EXPECT_FALSE(RangeMissed(*ParseFigure("100 %", FigureUnit::kShare), FigureUnit::kShare));
  EXPECT_FALSE(RangeMissed(*ParseFigure("0.01 %", FigureUnit::kShare), FigureUnit::kShare));
}

}  // namespace
}  // namespace attend
