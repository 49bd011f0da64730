// What must hold for any bytes at all: a value or one error, whatever is cut off or changed, in linear time and memory.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <chrono>

#include "formats/gguf_test_builder.h"
#include "formats/gguf_test_cases.h"

namespace attend {
namespace {

using testing::Bytes;
using testing::GgufBuilder;
using testing::LoadGguf;
using testing::TestTensor;
using testing::TinyLlama;

TEST(GgufRobust, TruncatedAnywhereIsAnError) {
  const Bytes bytes = TinyLlama().Build();  // the last tensor's data ends at a multiple of 32: no padding
  ASSERT_TRUE(LoadGguf(bytes).has_value());
  for (size_t size = 0; size < bytes.size(); ++size) {
    // Exactly as long as the file, so that a sanitizer sees a read past the end.
    const Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const auto header = LoadGguf(part);
    ASSERT_FALSE(header.has_value()) << size;
    ASSERT_FALSE(Describe(header.error()).empty());
  }
}

TEST(GgufRobust, AnyBitOfTheHeaderMayFlip) {
  GgufBuilder builder = TinyLlama();
  const size_t header_bytes = builder.Header().size();
  Bytes bytes = builder.Build();
  size_t num_valid = 0;
  for (size_t bit = 0; bit < header_bytes * 8; ++bit) {
    const uint8_t mask = static_cast<uint8_t>(1 << (bit % 8));
    bytes[bit / 8] ^= mask;
    const auto header = LoadGguf(bytes);
    num_valid += header.has_value();
    ASSERT_TRUE(header.has_value() || !Describe(header.error()).empty());
    bytes[bit / 8] ^= mask;
  }
  EXPECT_GT(num_valid, 0u);  // a letter of the model's name, for one
}

RC_GTEST_PROP(GgufRobust, RandomDamageIsSurvived, ()) {
  Bytes bytes = TinyLlama().Build();
  const auto damage = *rc::gen::container<std::vector<std::pair<size_t, uint8_t>>>(
      rc::gen::pair(rc::gen::inRange<size_t>(0, bytes.size()), rc::gen::arbitrary<uint8_t>()));
  for (const auto& [at, value] : damage) bytes[at] = value;
  const auto header = LoadGguf(bytes);
  const bool is_described = header.has_value() || !Describe(header.error()).empty();
  RC_ASSERT(is_described);  // the macro would evaluate both sides of ||
}

RC_GTEST_PROP(GgufRobust, RandomBytesAfterTheMagicAreSurvived, (const std::vector<uint8_t>& tail)) {
  Bytes bytes = {'G', 'G', 'U', 'F', 3, 0, 0, 0};
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  RC_ASSERT(!LoadGguf(bytes).has_value());
}

RC_GTEST_PROP(GgufRobust, WhatIsWrittenIsRead, ()) {
  GgufBuilder builder;
  builder.alignment = uint64_t{1} << *rc::gen::inRange(0, 10);
  builder.Uint32("general.alignment", static_cast<uint32_t>(builder.alignment));
  const auto texts = *rc::gen::arbitrary<std::vector<std::string>>();
  const auto numbers = *rc::gen::arbitrary<std::vector<int32_t>>();
  builder.Strings("texts", texts).Array<int32_t>("numbers", GgufType::kInt32, numbers);
  const auto tensor_bytes = *rc::gen::arbitrary<std::vector<Bytes>>();
  for (size_t i = 0; i < tensor_bytes.size(); ++i) {
    builder.Tensor(
        {.name = "t" + std::to_string(i), .dims = {tensor_bytes[i].size()}, .type = 24, .data = tensor_bytes[i]});
  }
  const Bytes bytes = builder.Build();
  const auto file = GgufFile::Parse(bytes, "test.gguf");
  if (!file) RC_FAIL(Describe(file.error()));
  const auto read_texts = file->Strings("texts");
  RC_ASSERT(std::equal(texts.begin(), texts.end(), read_texts->begin(), read_texts->end()));
  const auto read_numbers = file->Integers("numbers");
  RC_ASSERT(std::equal(numbers.begin(), numbers.end(), read_numbers->begin(), read_numbers->end()));
  for (size_t i = 0; i < tensor_bytes.size(); ++i) {
    const auto data = file->Data(*file->FindTensor("t" + std::to_string(i)));
    RC_ASSERT(std::equal(data.begin(), data.end(), tensor_bytes[i].begin(), tensor_bytes[i].end()));
  }
}

Bytes ManyKeysAndTensors(uint64_t count) {
  Bytes bytes = GgufBuilder().Header();
  for (const size_t at : {8, 16}) std::memcpy(bytes.data() + at, &count, sizeof count);
  for (uint64_t i = 0; i < count; ++i) {
    testing::AppendString(bytes, "key." + std::to_string(i));
    testing::AppendValue<uint32_t>(bytes, 0);
    testing::AppendValue<uint8_t>(bytes, 1);
  }
  for (uint64_t i = 0; i < count; ++i) {
    testing::AppendString(bytes, "tensor." + std::to_string(i));
    testing::AppendValue<uint32_t>(bytes, 1);
    testing::AppendValue<uint64_t>(bytes, 0);
    testing::AppendValue<uint32_t>(bytes, 24);
    testing::AppendValue<uint64_t>(bytes, 0);
  }
  bytes.resize(bytes.size() + 32);
  return bytes;
}

double SecondsToParse(const Bytes& bytes, uint64_t count) {
  const auto begin = std::chrono::steady_clock::now();
  const auto file = GgufFile::Parse(bytes, "test.gguf");
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  if (!file) {
    ADD_FAILURE() << Describe(file.error());
    return 0;
  }
  EXPECT_EQ(file->tensors().size(), count);
  EXPECT_TRUE(file->Has("key." + std::to_string(count - 1)));
  return time.count();
}

// G31. Ten times as many take about ten times as long; a scan for each would take a hundred times.
TEST(GgufRobust, AMillionKeysAndTensorsLoadInLinearTime) {
  const Bytes small = ManyKeysAndTensors(100'000);
  const Bytes large = ManyKeysAndTensors(1'000'000);
  double small_seconds = SecondsToParse(small, 100'000);
  for (int i = 0; i < 2; ++i) small_seconds = std::max(small_seconds, SecondsToParse(small, 100'000));
  EXPECT_LT(SecondsToParse(large, 1'000'000), 40 * small_seconds);
}

}  // namespace
}  // namespace attend
