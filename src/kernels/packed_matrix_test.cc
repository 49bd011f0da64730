#include "kernels/packed_matrix.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "kernels/reference.h"
#include "kernels/weights_test_util.h"
#include "tensor/packed_bytes.h"

namespace attend {
namespace {

void ExpectRoundTrip(DType dtype, int64_t num_outputs, int64_t num_inputs, RowOrder order) {
  SCOPED_TRACE(std::string(NameOf(dtype)) + " n" + std::to_string(num_outputs) + " k" + std::to_string(num_inputs));
  const std::vector<uint8_t> bytes = RandomWeightBytes(dtype, num_outputs, num_inputs, 3);
  const std::vector<double> weights = ReferenceWeights(dtype, bytes, num_outputs, num_inputs);
  ThreadPool pool(2);
  const auto packed = PackedMatrix::Pack(dtype, bytes, num_outputs, num_inputs, order, "w", pool);
  ASSERT_TRUE(packed) << Describe(packed.error());
  EXPECT_EQ(packed->size_bytes(), PackedMatrixBytes(dtype, num_outputs, num_inputs));
  EXPECT_EQ(packed->num_outputs(), num_outputs);
  EXPECT_EQ(packed->num_inputs(), num_inputs);
  EXPECT_FALSE(packed->HasNonfinite());
  std::vector<float> row(static_cast<size_t>(num_inputs));
  for (int64_t output = 0; output < num_outputs; ++output) {
    // Row i of the first half of a head is stored at 2 i, row i of the second half at 2 i + 1.
    const int64_t dim = order.interleaved_head_dim == 0 ? num_outputs : order.interleaved_head_dim;
    const int64_t head = output / dim, i = output % dim;
    const int64_t in_head = order.interleaved_head_dim == 0 ? i : i < dim / 2 ? 2 * i : 2 * (i - dim / 2) + 1;
    packed->UnpackOutput(output, row.data());
    for (int64_t k = 0; k < num_inputs; ++k) {
      // d * q is exact in float, so that adding the minimum rounds once.
      ASSERT_EQ(row[k], static_cast<float>(weights[(head * dim + in_head) * num_inputs + k])) << output << " " << k;
    }
  }
}

TEST(PackedMatrixTest, UnpackOutputIsWhatTheBytesStandFor) {
  for (DType dtype : kWeightTypes) {
    for (int64_t num_outputs : {1, 63, 64, 65, 130}) {
      for (int64_t num_inputs : {32, 64, 160}) ExpectRoundTrip(dtype, num_outputs, num_inputs, {});
      if (!IsQuantised(dtype)) ExpectRoundTrip(dtype, num_outputs, 37, {});
    }
  }
}

TEST(PackedMatrixTest, InterleavedHeadsComeOutHalfSplit) {
  for (DType dtype : kWeightTypes) {
    ExpectRoundTrip(dtype, 192, 32, {.interleaved_head_dim = 64});
    ExpectRoundTrip(dtype, 72, 64, {.interleaved_head_dim = 24});
    ExpectRoundTrip(dtype, 4, 32, {.interleaved_head_dim = 2});
  }
}

// Every pair (2 i, 2 i + 1) of a head is used once: the order is a permutation inside each head.
RC_GTEST_PROP(PackedMatrixTest, RowOrderIsAPermutationOfEachHead, ()) {
  const int64_t half = *rc::gen::inRange<int64_t>(1, 130), heads = *rc::gen::inRange<int64_t>(1, 6);
  const RowOrder order{.interleaved_head_dim = 2 * half};
  std::vector<bool> seen(static_cast<size_t>(2 * half * heads), false);
  for (int64_t row = 0; row < 2 * half * heads; ++row) {
    const int64_t source = order.SourceRow(row);
    RC_ASSERT(source / (2 * half) == row / (2 * half));
    RC_ASSERT(!seen[source]);
    seen[source] = true;
  }
}

TEST(PackedMatrixTest, NonfiniteWeightsAndScalesAreFound) {
  ThreadPool pool(1);
  for (DType dtype : kWeightTypes) {
    std::vector<uint8_t> bytes = RandomWeightBytes(dtype, 66, 64, 5);
    const size_t last = bytes.size() - InfoOf(dtype).block_bytes;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const uint16_t half_infinity = 0x7c00, bf16_infinity = 0xff80;
    if (dtype == DType::kF32) {
      std::memcpy(bytes.data() + last, &nan, 4);
    } else {
      std::memcpy(bytes.data() + last, dtype == DType::kBf16 ? &bf16_infinity : &half_infinity, 2);
    }
    EXPECT_TRUE(PackedMatrix::Pack(dtype, bytes, 66, 64, {}, "w", pool)->HasNonfinite()) << NameOf(dtype);
  }
}

TEST(PackedMatrixTest, OtherTypesAndHalfRowsAreRefusedByName) {
  ThreadPool pool(1);
  const std::vector<uint8_t> bytes(4096, 0);
  const auto refused = [&](DType dtype, int64_t outputs, int64_t inputs) {
    const auto packed = PackedMatrix::Pack(dtype, bytes, outputs, inputs, {}, "blk.0.attn_q", pool);
    EXPECT_FALSE(packed);
    EXPECT_EQ(packed.error().code, ErrorCode::kUnsupportedTensorType);
    EXPECT_EQ(packed.error().subject, "blk.0.attn_q");
  };
  refused(DType::kF64, 8, 64);
  refused(DType::kI8, 64, 64);
  refused(DType::kF32, 8, 64);
  refused(DType::kQ8_0, 2, 48);
  EXPECT_EQ(PackedMatrixBytes(DType::kI32, 8, 64), 0u);
}

}  // namespace
}  // namespace attend
