// aligned_buffer, checked_math and machine.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/checked_math.h"
#include "base/machine.h"

namespace attend {
namespace {

TEST(AlignedBufferTest, IsAlignedAndZeroed) {
  for (size_t size :
       {size_t{0}, size_t{1}, size_t{63}, size_t{100}, size_t{(1 << 20) - 1}, size_t{1 << 20}, size_t{3 << 20}}) {
    const auto buffer = AlignedBuffer<uint8_t>::Make(size, "test");
    ASSERT_TRUE(buffer);
    EXPECT_NE(buffer->data(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0u);
    EXPECT_EQ(buffer->size_bytes(), size);
    EXPECT_EQ(std::count(buffer->span().begin(), buffer->span().end(), 0), static_cast<int64_t>(size));
  }
}

TEST(AlignedBufferTest, AbsurdSizesAreErrorsThatNameTheUse) {
  for (size_t size : {size_t{1} << 60, SIZE_MAX / 4, SIZE_MAX / 4 + 1, SIZE_MAX}) {
    const auto buffer = AlignedBuffer<float>::Make(size, "kv cache");
    ASSERT_FALSE(buffer) << size;
    EXPECT_EQ(buffer.error().code, ErrorCode::kOutOfMemory);
    EXPECT_EQ(buffer.error().where, "kv cache");
    EXPECT_NE(buffer.error().expected.find(std::to_string(size)), std::string::npos);
  }
}

TEST(AlignedBufferTest, MovesWithoutCopying) {
  AlignedBuffer<int> a = *AlignedBuffer<int>::Make(5, "a");
  a[3] = 7;
  const int* data = a.data();
  AlignedBuffer<int> b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b[3], 7);
  AlignedBuffer<int> c;
  EXPECT_TRUE(c.empty());
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
}

TEST(CheckedMathTest, NothingWrapsSilently) {
  constexpr uint64_t kMax = UINT64_MAX;
  EXPECT_EQ(CheckedAdd(kMax - 1, 1), kMax);
  EXPECT_EQ(CheckedAdd(kMax, 1), std::nullopt);
  EXPECT_EQ(CheckedMultiply(uint64_t{1} << 32, (uint64_t{1} << 32) - 1), kMax - 0xffffffff);
  EXPECT_EQ(CheckedMultiply(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(CheckedMultiply(kMax, 0), 0u);
  EXPECT_EQ(CheckedAlignUp(0, 32), 0u);
  EXPECT_EQ(CheckedAlignUp(1, 32), 32u);
  EXPECT_EQ(CheckedAlignUp(64, 32), 64u);
  EXPECT_EQ(CheckedAlignUp(kMax - 30, 32), std::nullopt);
  EXPECT_EQ(CheckedAlignUp(kMax - 31, 32), kMax - 31);
  EXPECT_EQ(RoundUp(7, 3), 9u);
}

TEST(MachineTest, SetsRiseFromScalarToTheOneInUse) {
  const Machine machine = DetectMachine();
  ASSERT_FALSE(machine.isas.empty());
  EXPECT_EQ(machine.isas.front(), Isa::kScalar);
  EXPECT_TRUE(std::is_sorted(machine.isas.begin(), machine.isas.end()));
  EXPECT_EQ(std::adjacent_find(machine.isas.begin(), machine.isas.end()), machine.isas.end());
  EXPECT_EQ(machine.isa, machine.isas.back());
  EXPECT_GE(machine.num_cores, 1);
  EXPECT_GT(machine.memory_bytes, uint64_t{64} << 20);
  EXPECT_LE(machine.available_memory_bytes, machine.memory_bytes);
  EXPECT_FALSE(machine.cpu_name.empty());
}

TEST(MachineTest, ChooseIsaKnowsEachSetThatIsThere) {
  Machine machine = DetectMachine();
  for (Isa isa : machine.isas) EXPECT_EQ(*ChooseIsa(machine, NameOf(isa)), isa);
  machine.isas = {Isa::kScalar, Isa::kAvx2};
  for (const char* name : {"avx512", "AVX2", "", "neon"}) {
    const auto isa = ChooseIsa(machine, name);
    ASSERT_FALSE(isa) << name;
    EXPECT_EQ(isa.error().code, ErrorCode::kUnknownIsa);
    EXPECT_EQ(isa.error().expected, "one of scalar, avx2");
    EXPECT_EQ(isa.error().found, name);
  }
}

TEST(MachineTest, ResidentBytesSeeWhatIsTouched) {
  const uint64_t before = ResidentBytes();
  auto buffer = AlignedBuffer<uint8_t>::Make(size_t{64} << 20, "test");
  for (size_t i = 0; i < buffer->size(); i += 4096) (*buffer)[i] = 1;
  EXPECT_GE(ResidentBytes(), before + (uint64_t{48} << 20));
  const uint64_t peak = PeakResidentBytes(), slack = uint64_t{1} << 20;  // the system counts in batches of pages
  EXPECT_GE(peak + slack, ResidentBytes());
}

TEST(MachineTest, APeakCanBeCountedAnew) {
  auto buffer = AlignedBuffer<uint8_t>::Make(size_t{64} << 20, "test");
  for (size_t i = 0; i < buffer->size(); i += 4096) (*buffer)[i] = 1;
  const uint64_t peak = PeakResidentBytes();
  buffer = AlignedBuffer<uint8_t>();
  ASSERT_TRUE(ResetPeakResidentBytes());
  EXPECT_LT(PeakResidentBytes(), peak - (uint64_t{48} << 20));
}

}  // namespace
}  // namespace attend
