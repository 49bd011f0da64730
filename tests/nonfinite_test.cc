// G30: a model with NaN or infinite weights is refused, naming the tensor, unless it is asked for.
#include <gtest/gtest.h>

#include <cstring>

#include "formats/gguf_test_builder.h"
#include "kernels/packed_matrix.h"
#include "model/load.h"
#include "tests/cli_util.h"

namespace attend {
namespace {

TEST(NonfiniteWeights, AreSeenInEveryPackedFormat) {
  ThreadPool pool(1);
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBf16, DType::kQ4_0, DType::kQ4_1, DType::kQ8_0}) {
    const DTypeInfo info = InfoOf(dtype);
    std::vector<uint8_t> bytes(size_t{70} * 64 / info.block_values * info.block_bytes, 0);
    const auto packed = [&] { return *PackedMatrix::Pack(dtype, bytes, 70, 64, {}, "w", pool); };
    EXPECT_FALSE(packed().HasNonfinite()) << info.name;
    // The last value's bits, or its block's scale, become infinity.
    uint8_t* place = bytes.data() + bytes.size() - info.block_bytes;
    const uint16_t half = dtype == DType::kBf16 || dtype == DType::kF32 ? 0x7f80 : 0x7c00;
    std::memcpy(dtype == DType::kF32 ? place + 2 : place, &half, 2);
    EXPECT_TRUE(packed().HasNonfinite()) << info.name;
  }
}

testing::Bytes ModelWithInfinity() {
  testing::GgufBuilder model = testing::TinyLlama();
  testing::Bytes& floats = model.tensors.back().data;
  floats.at(2) = 0x80;  // the first float becomes infinity, 0x7f800000
  floats.at(3) = 0x7f;
  return model.Build();
}

TEST(NonfiniteWeights, AreRefusedAtLoadUnlessAllowed) {
  const CliFolder home;
  const std::string path = home.Write("bad.gguf", ModelWithInfinity());
  ThreadPool pool(1);
  const auto refused = LoadModel(path, pool);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kModelNonfinite) << Describe(refused.error());
  EXPECT_FALSE(refused.error().subject.empty());
  EXPECT_TRUE(LoadModel(path, pool, NonfiniteWeights::kAllow));
}

}  // namespace
}  // namespace attend
