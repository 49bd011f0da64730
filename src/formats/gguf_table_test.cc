// Headers without their data: all types of tensors, and nothing of the weights is needed.
#include <gmock/gmock.h>

#include "formats/gguf_shape_test_util.h"

namespace attend {
namespace {

using testing::Bytes;
using testing::GgufBuilder;
using testing::HeaderBuilder;
using testing::TinyLlama;

struct TypeSize {
  uint32_t id;
  const char* name;
  uint64_t bits_of_256;  // of 256 values
};

// ggml's own sizes, in bits a value * 256.
constexpr TypeSize kSizes[] = {
    {0, "f32", 8192},    {1, "f16", 4096},     {2, "q4_0", 1152},  {3, "q4_1", 1280},    {6, "q5_0", 1408},
    {7, "q5_1", 1536},   {8, "q8_0", 2176},    {9, "q8_1", 2304},  {10, "q2_K", 672},    {11, "q3_K", 880},
    {12, "q4_K", 1152},  {13, "q5_K", 1408},   {14, "q6_K", 1680}, {15, "q8_K", 2336},   {16, "iq2_xxs", 528},
    {17, "iq2_xs", 592}, {18, "iq3_xxs", 784}, {19, "iq1_s", 400}, {20, "iq4_nl", 1152}, {21, "iq3_s", 880},
    {22, "iq2_s", 656},  {23, "iq4_xs", 1088}, {24, "i8", 2048},   {25, "i16", 4096},    {26, "i32", 8192},
    {27, "i64", 16384},  {28, "f64", 16384},   {29, "iq1_m", 448}, {30, "bf16", 4096},   {34, "tq1_0", 432},
    {35, "tq2_0", 528},  {39, "mxfp4", 1088},
};

TEST(GgufTable, EveryTypeHasItsSize) {
  for (const TypeSize& size : kSizes) {
    ASSERT_TRUE(FindGgufTensorType(size.id)) << size.name;
    EXPECT_EQ(FindGgufTensorType(size.id)->name, size.name);
    HeaderBuilder builder("llama");
    builder.Tensor("x", {256, 3}, size.id);
    const Bytes bytes = builder.Header();
    const auto file = GgufFile::ParseHeader(bytes, "test.gguf");
    ASSERT_TRUE(file) << Describe(file.error());
    EXPECT_EQ(file->FindTensor("x")->bytes * 8, 3 * size.bits_of_256) << size.name;
    EXPECT_FALSE(file->has_data());
  }
}

// The bytes end where the weights would begin, so that a sanitizer sees any read of them; cut before, it is damage.
TEST(GgufTable, NeedsTheTableAndNothingBehindIt) {
  const Bytes whole = TinyLlama().Build(), header = TinyLlama().Header();
  const auto file = GgufFile::ParseHeader(header, "test.gguf");
  ASSERT_TRUE(file) << Describe(file.error());
  EXPECT_EQ(file->tensors().size(), GgufFile::Parse(whole, "test.gguf")->tensors().size());
  EXPECT_FALSE(GgufFile::Parse(header, "test.gguf"));
  for (size_t size = 0; size < header.size(); ++size) {
    const Bytes part(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_FALSE(GgufFile::ParseHeader(part, "test.gguf")) << size;
  }
}

TEST(GgufTable, RefusesWhatNoFileCanBe) {
  const auto code_of = [](const GgufBuilder& builder) {
    return GgufFile::ParseHeader(builder.Header(), "test.gguf").error().code;
  };
  const auto changed = [](auto change) {
    GgufBuilder builder = TinyLlama();
    change(builder.Find("output.weight"));
    return builder;
  };
  EXPECT_EQ(code_of(changed([](auto& t) { t.type = 4; })), ErrorCode::kGgufBadType);
  EXPECT_EQ(code_of(changed([](auto& t) { t.type = 12; })), ErrorCode::kGgufBadShape);  // rows of 8
  EXPECT_EQ(code_of(changed([](auto& t) { t.offset = 0; })), ErrorCode::kGgufBadOffset);
  EXPECT_EQ(code_of(changed([](auto& t) { t.offset = 1; })), ErrorCode::kGgufBadOffset);
  EXPECT_EQ(code_of(changed([](auto& t) { t.offset = ~uint64_t{31}; })), ErrorCode::kGgufBadOffset);
  EXPECT_EQ(code_of(changed([](auto& t) { t.offset = uint64_t{1} << 40; })), ErrorCode::kGgufBadOffset);  // a hole
  EXPECT_EQ(code_of(TinyLlama().Uint32("split.count", 3)), ErrorCode::kUnsupportedFeature);
}

TEST(GgufTable, WhatRunsHereStaysAsStrict) {
  HeaderBuilder builder("llama");
  builder.Tensor("x", {256}, testing::kQ4KId);
  EXPECT_EQ(GgufFile::Parse(builder.file.Build(), "test.gguf").error().code, ErrorCode::kUnsupportedTensorType);
}

}  // namespace
}  // namespace attend
