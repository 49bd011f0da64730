#include "formats/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "formats/gguf_test_builder.h"
#include "formats/gguf_test_cases.h"

namespace attend {
namespace {

using testing::AllGgufCases;
using testing::Bytes;
using ::testing::ElementsAre;
using testing::GgufBuilder;
using testing::GgufCase;
using ::testing::HasSubstr;
using testing::LoadGguf;
using testing::TinyLlama;

std::string TempPath(const std::string& name) {
  return ::testing::TempDir() + "attend_" + std::to_string(getpid()) + "_" + name;
}

void WriteFile(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

TEST(Gguf, EveryMalformedFileIsOneErrorThatNamesTheFault) {
  for (const GgufCase& row : AllGgufCases()) {
    const auto header = LoadGguf(row.bytes);
    ASSERT_FALSE(header.has_value()) << row.row;
    const std::string message = Describe(header.error());
    EXPECT_EQ(InfoOf(header.error().code).name, InfoOf(row.code).name) << row.row << ": " << message;
    EXPECT_THAT(message, HasSubstr(row.names)) << row.row;
    EXPECT_THAT(message, HasSubstr("test.gguf")) << row.row;
    EXPECT_THAT(message, HasSubstr("expected")) << row.row;
    EXPECT_LT(message.size(), 1000u) << row.row;
    // What is absent has no place; a fault between two keys has two.
    const bool has_place = row.code != ErrorCode::kGgufMissing && row.row != "G27 kv heads no divisor" &&
                           row.row != "G28 width not divisible" && !row.row.starts_with("G28 rotary");
    EXPECT_EQ(header.error().byte_offset.has_value(), has_place) << row.row << ": " << message;
    EXPECT_LE(header.error().byte_offset.value_or(0), row.bytes.size()) << row.row;
  }
}

TEST(Gguf, ReadsWhatWasWritten) {
  GgufBuilder builder = TinyLlama();
  builder.version = 2;
  builder.Set<uint64_t>("some.uint64", GgufType::kUint64, ~uint64_t{0}).Set<int8_t>("some.int8", GgufType::kInt8, 7);
  builder.Set<double>("some.float64", GgufType::kFloat64, 0.5).Bool("some.bool", true);
  builder.Array<float>("some.floats", GgufType::kFloat32, {1.5f, -2.0f});
  builder.Array<uint32_t>("some.uint32s", GgufType::kUint32, {1, 0xffffffffu}).Strings("no.strings", {});
  builder.Find("output_norm.weight").data[0] = 42;
  const Bytes bytes = builder.Build();
  const auto file = GgufFile::Parse(bytes, "test.gguf");
  ASSERT_TRUE(file.has_value()) << Describe(file.error());
  EXPECT_EQ(file->version(), 2u);
  EXPECT_EQ(file->alignment(), 32u);
  EXPECT_EQ(file->String("general.name"), "tiny");
  EXPECT_EQ(file->Unsigned("some.uint64"), ~uint64_t{0});
  EXPECT_EQ(file->Unsigned("some.int8"), 7u);
  EXPECT_EQ(file->Float("some.float64"), 0.5);
  EXPECT_EQ(file->Bool("some.bool"), true);
  EXPECT_THAT(*file->Floats("some.floats"), ElementsAre(1.5f, -2.0f));
  EXPECT_THAT(*file->Integers("some.uint32s"), ElementsAre(1, 4294967295));
  EXPECT_THAT(*file->Integers("tokenizer.ggml.token_type"), ElementsAre(1, 1, 1, 1, 3));
  EXPECT_THAT(*file->Strings("tokenizer.ggml.tokens"), ElementsAre("a", "b", "c", "ab", "<end>"));
  EXPECT_TRUE(file->Strings("no.strings")->empty());
  const TensorEntry* tensor = file->FindTensor("token_embd.weight");
  ASSERT_NE(tensor, nullptr);
  EXPECT_THAT(tensor->shape, ElementsAre(5, 8));
  EXPECT_EQ(tensor->offset, file->data_offset());
  EXPECT_EQ(file->Data(*tensor).size(), 160u);
  EXPECT_EQ(file->Data(*file->FindTensor("output_norm.weight"))[0], 42);
  EXPECT_EQ(file->FindTensor("absent"), nullptr);
  EXPECT_EQ(file->mapping(), nullptr);
}

TEST(Gguf, GettersNeverConvertAndOnlyForgiveAbsentKeys) {
  GgufBuilder builder = TinyLlama();
  builder.Set<int32_t>("some.negative", GgufType::kInt32, -1).Array<uint8_t>("some.bytes", GgufType::kUint8, {1});
  const Bytes bytes = builder.Build();
  const auto file = GgufFile::Parse(bytes, "test.gguf");
  ASSERT_TRUE(file.has_value());
  const auto code_of = [](const auto& result) { return InfoOf(result.error().code).name; };
  EXPECT_EQ(code_of(file->Unsigned("absent")), "gguf_missing");
  EXPECT_EQ(code_of(file->Unsigned("some.negative")), "gguf_bad_value");
  EXPECT_EQ(code_of(file->Unsigned("general.name")), "gguf_bad_type");
  EXPECT_EQ(code_of(file->Unsigned("llama.rope.freq_base")), "gguf_bad_type");
  EXPECT_EQ(code_of(file->Float("llama.block_count")), "gguf_bad_type");
  EXPECT_EQ(code_of(file->Bool("llama.block_count")), "gguf_bad_type");
  EXPECT_EQ(code_of(file->String("tokenizer.ggml.tokens")), "gguf_bad_type");
  EXPECT_EQ(code_of(file->Strings("general.name")), "gguf_bad_type");
  EXPECT_EQ(code_of(file->Integers("some.bytes")), "gguf_bad_type");
  EXPECT_EQ(code_of(file->Floats("tokenizer.ggml.token_type")), "gguf_bad_type");
  EXPECT_EQ(file->UnsignedOr("absent", 3), 3u);
  EXPECT_EQ(file->FloatOr("absent", 0.25), 0.25);
  EXPECT_EQ(file->BoolOr("absent", true), true);
  EXPECT_EQ(file->StringOr("absent", "x"), "x");
  EXPECT_EQ(code_of(file->UnsignedOr("general.name", 3)), "gguf_bad_type");
  const Error error = file->Integers("some.bytes").error();
  EXPECT_EQ(error.found, "array of uint8");
  EXPECT_EQ(bytes[error.byte_offset.value()], 1);
}

TEST(Gguf, AcceptsEmptyTensorsScalarsAndAnyOrderAndAlignment) {
  for (const uint32_t alignment : {1u, 2u, 64u, 65536u}) {
    GgufBuilder builder;
    builder.alignment = alignment;
    builder.Uint32("general.alignment", alignment).Floats("empty", {0}).Floats("flat", {4, 0, 3}).Floats("scalar", {});
    builder.Tensor({.name = "second", .dims = {32}, .type = 2, .data = Bytes(18)}).Floats("first", {4});
    const uint64_t scalar_bytes = std::max<uint64_t>(4, alignment);
    builder.Find("first").offset = scalar_bytes;
    builder.Find("second").offset = scalar_bytes + std::max<uint64_t>(16, alignment);
    const Bytes bytes = builder.Build();
    const auto file = GgufFile::Parse(bytes, "test.gguf");
    ASSERT_TRUE(file.has_value()) << Describe(file.error());
    EXPECT_TRUE(file->Data(*file->FindTensor("flat")).empty());
    EXPECT_EQ(file->Data(*file->FindTensor("scalar")).size(), 4u);
    EXPECT_LT(file->FindTensor("first")->offset, file->FindTensor("second")->offset);
    EXPECT_EQ(file->FindTensor("second")->dtype, DType::kQ4_0);
  }
}

TEST(Gguf, OpensRegularFilesOnly) {
  const auto code_of = [](const std::string& path) { return InfoOf(GgufFile::Open(path).error().code).name; };
  const std::string path = TempPath("file.gguf");
  WriteFile(path, {});
  EXPECT_EQ(code_of(path), "file_empty");
  EXPECT_EQ(code_of(::testing::TempDir()), "file_is_directory");
  EXPECT_EQ(code_of("/dev/zero"), "file_not_regular");
  EXPECT_EQ(code_of(path + ".absent"), "file_not_found");
  const std::string pipe = TempPath("pipe.gguf");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(code_of(pipe), "file_not_regular");
  unlink(pipe.c_str());
  unlink(path.c_str());
}

TEST(Gguf, NoticesThatAnOpenFileShrank) {
  const std::string path = TempPath("shrinks.gguf");
  const Bytes bytes = TinyLlama().Build();
  WriteFile(path, bytes);
  const auto opened = GgufFile::Open(path);
  ASSERT_TRUE(opened.has_value()) << Describe(opened.error());
  ASSERT_NE(opened->mapping(), nullptr);
  EXPECT_TRUE(opened->mapping()->CheckUnchanged().has_value());
  EXPECT_TRUE(ReadModelHeader(*opened).has_value());
  ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(bytes.size() / 2)), 0);
  EXPECT_EQ(opened->mapping()->CheckUnchanged().error().code, ErrorCode::kFileChanged);
  unlink(path.c_str());
}

}  // namespace
}  // namespace attend
