#include "measure/peaks.h"

#include <gtest/gtest.h>

#include "kernels/dispatch.h"

namespace attend {
namespace {

TEST(PeaksTest, EveryPeakIsPositiveOnEveryInstructionSet) {
  const Machine machine = DetectMachine();
  ThreadPool pool(2);
  for (Isa isa : machine.isas) {
    const auto peaks =
        MeasurePeaks(KernelsFor(isa), pool, {.read_bytes = 8 << 20, .rounds = 1, .compute_seconds = 0.001});
    ASSERT_TRUE(peaks) << NameOf(isa);
    EXPECT_EQ(peaks->threads, 2);
    EXPECT_GT(peaks->fma_flops_per_s, 1e6) << NameOf(isa);
    EXPECT_GE(peaks->bf16_flops_per_s, peaks->fma_flops_per_s) << NameOf(isa);
    EXPECT_GT(peaks->read_1_bytes_per_s, 1e6) << NameOf(isa);
    EXPECT_GT(peaks->read_bytes_per_s, 1e6) << NameOf(isa);
  }
}

TEST(PeaksTest, OneThreadReadsWithOneThread) {
  ThreadPool pool(1);
  const auto peaks =
      MeasurePeaks(KernelsFor(Isa::kScalar), pool, {.read_bytes = 1 << 20, .rounds = 1, .compute_seconds = 0.001});
  ASSERT_TRUE(peaks);
  EXPECT_EQ(peaks->read_1_bytes_per_s, peaks->read_bytes_per_s);
}

TEST(PeaksTest, ABufferThatCannotBeHadIsAnError) {
  ThreadPool pool(1);
  const auto peaks =
      MeasurePeaks(KernelsFor(Isa::kScalar), pool, {.read_bytes = SIZE_MAX / 2, .rounds = 1, .compute_seconds = 0.001});
  ASSERT_FALSE(peaks);
  EXPECT_EQ(peaks.error().code, ErrorCode::kOutOfMemory);
}

}  // namespace
}  // namespace attend
