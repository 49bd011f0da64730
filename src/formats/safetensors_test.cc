#include "formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "formats/gguf_test_builder.h"

namespace attend {
namespace {

using testing::Bytes;
using ::testing::HasSubstr;

Bytes File(std::string_view header, size_t data_bytes) {
  Bytes bytes;
  testing::AppendString(bytes, header);
  bytes.resize(bytes.size() + data_bytes);
  return bytes;
}

// {"a": {...}} of one tensor.
std::string Tensor(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return std::string(R"({"a":{"dtype":")") + std::string(dtype) + R"(","shape":)" + std::string(shape) +
         R"(,"data_offsets":)" + std::string(offsets) + "}}";
}

struct SafetensorsCase {
  std::string row;
  Bytes bytes;
  ErrorCode code;
  std::string names;
};

Bytes LengthOnly(uint64_t length, size_t bytes) {
  Bytes file;
  testing::AppendValue(file, length);
  file.resize(bytes);
  return file;
}

std::vector<SafetensorsCase> HeaderCases() {
  using enum ErrorCode;
  const std::string a = R"("a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]})";
  const std::string a_without_end = R"({"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1])";
  return {
      {"S1 no bytes", {}, kSafetensorsTruncated, "length at byte 0"},
      {"S1 7 bytes", Bytes(7), kSafetensorsTruncated, "length"},
      {"S1 longer than the file", LengthOnly(1000, 100), kSafetensorsTruncated, "header"},
      {"S1 100 MB and 1", LengthOnly(100'000'001, 100), kSafetensorsBadHeader, "at most 100000000"},
      {"S1 2^64-1", LengthOnly(~uint64_t{0}, 100), kSafetensorsBadHeader, "length"},
      {"S1 empty header", LengthOnly(0, 8), kSafetensorsBadHeader, "'{'"},
      {"S2 not UTF-8", File("{\"a\xff\":{}}", 0), kSafetensorsBadHeader, "UTF-8"},
      {"S2 a byte order mark", File("\xef\xbb\xbf{" + a + "}", 1), kSafetensorsBadHeader, "'{'"},
      {"S2 not JSON", File("{\"a\"}", 0), kSafetensorsBadHeader, "JSON text at byte 12"},
      {"S2 two values", File("{}{}", 0), kSafetensorsBadHeader, "JSON"},
      {"S2 an array", File("[]", 0), kSafetensorsBadHeader, "'{'"},
      {"S2 10^6 deep", File("{\"a\":" + std::string(1'000'000, '['), 0), kSafetensorsBadHeader, "'a'"},
      {"S2 10^6 objects deep", File("{\"a\":{\"dtype\":" + std::string(1'000'000, '{'), 0), kSafetensorsBadHeader,
       "'a'"},
      {"S3 tensor twice", File("{" + a + "," + a + "}", 1), kSafetensorsDuplicate, "'a'"},
      {"S3 field twice", File(a_without_end + R"(,"dtype":"I8"}})", 1), kSafetensorsDuplicate, "'dtype'"},
      {"S3 metadata twice", File(R"({"__metadata__":{},"__metadata__":{}})", 0), kSafetensorsDuplicate,
       "'__metadata__'"},
      {"S3 metadata key twice", File(R"({"__metadata__":{"k":"1","k":"2"}})", 0), kSafetensorsDuplicate, "'k'"},
      {"S7 metadata number", File(R"({"__metadata__":{"k":1}})", 0), kSafetensorsBadHeader, "'k'"},
      {"S7 metadata null", File(R"({"__metadata__":{"k":null}})", 0), kSafetensorsBadHeader, "'k'"},
      {"S7 metadata object", File(R"({"__metadata__":{"k":{}}})", 0), kSafetensorsBadHeader, "'k'"},
      {"S7 metadata text", File(R"({"__metadata__":"k"})", 0), kSafetensorsBadHeader, "__metadata__"},
      {"S7 shape float", File(Tensor("F32", "[1.0]", "[0,4]"), 4), kSafetensorsBadHeader, "'a'"},
      {"S7 shape negative", File(Tensor("F32", "[-1]", "[0,4]"), 4), kSafetensorsBadHeader, "-1"},
      {"S7 shape 1e30", File(Tensor("F32", "[1e30]", "[0,4]"), 4), kSafetensorsBadHeader, "1e30"},
      {"S7 shape 1e999", File(Tensor("F32", "[1e999]", "[0,4]"), 4), kSafetensorsBadHeader, "JSON"},
      {"S7 shape text", File(Tensor("F32", "[\"1\"]", "[0,4]"), 4), kSafetensorsBadHeader, "'a'"},
      {"S7 shape true", File(Tensor("F32", "[true]", "[0,4]"), 4), kSafetensorsBadHeader, "'a'"},
      {"S7 shape is text", File(Tensor("F32", "\"1\"", "[0,4]"), 4), kSafetensorsBadHeader, "'a'"},
      {"S7 33 dimensions",
       File(Tensor(
                "I8",
                "[1" +
                    [] {
                      std::string s;
                      for (int i = 0; i < 32; ++i) s += ",1";
                      return s;
                    }() +
                    "]",
                "[0,1]"),
            1),
       kSafetensorsBadHeader, "'a'"},
      {"a third offset", File(Tensor("F32", "[1]", "[0,4,8]"), 4), kSafetensorsBadHeader, "'a'"},
      {"one offset", File(Tensor("F32", "[1]", "[0]"), 4), kSafetensorsBadHeader, "'a'"},
      {"no dtype", File(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4), kSafetensorsBadHeader, "'a'"},
      {"an unknown field", File(a_without_end + R"(,"x":1}})", 1), kSafetensorsBadHeader, "'x'"},
      {"a tensor of null", File(R"({"a":null})", 0), kSafetensorsBadHeader, "'a'"},
      {"an empty name", File(R"({"":{}})", 0), kSafetensorsBadHeader, "empty"},
      {"ESC in a name", File(R"({"a\u001b[2J":{}})", 0), kSafetensorsBadHeader, "\\x1b[2J"},
  };
}

std::vector<SafetensorsCase> DataCases() {
  using enum ErrorCode;
  const auto two = [](std::string_view first, std::string_view second, size_t data_bytes) {
    const std::string begin = R"(":{"dtype":"I8","shape":[4],"data_offsets":)";
    return File("{\"a" + begin + std::string(first) + "},\"b" + begin + std::string(second) + "}}", data_bytes);
  };
  return {
      {"S4 hole", two("[0,4]", "[5,9]", 9), kSafetensorsBadOffset, "'b'"},
      {"S4 hole at the start", two("[1,5]", "[5,9]", 9), kSafetensorsBadOffset, "'a'"},
      {"S4 overlap", two("[0,4]", "[3,7]", 7), kSafetensorsBadOffset, "overlap"},
      {"S4 the same bytes", two("[0,4]", "[0,4]", 4), kSafetensorsBadOffset, "overlap"},
      {"S4 begin above end", File(Tensor("I8", "[4]", "[4,0]"), 4), kSafetensorsBadOffset, "'a'"},
      {"S5 bytes left over", two("[0,4]", "[4,8]", 9), kSafetensorsBadOffset, "the data"},
      {"S5 file too short", two("[0,4]", "[4,8]", 7), kSafetensorsTruncated, "'b'"},
      {"S5 data without tensors", File("{}", 1), kSafetensorsBadOffset, "the data"},
      {"S6 shape wraps", File(Tensor("F32", "[4294967296,4294967296]", "[0,0]"), 0), kSafetensorsBadTensor, "'a'"},
      {"S6 shape wraps beside 0", File(Tensor("F32", "[0,4294967296,4294967296]", "[0,0]"), 0), kSafetensorsBadTensor,
       "'a'"},
      {"S6 bytes wrap", File(Tensor("F64", "[2305843009213693953]", "[0,8]"), 8), kSafetensorsBadTensor, "'a'"},
      {"S6 size differs", File(Tensor("F32", "[2]", "[0,4]"), 4), kSafetensorsBadTensor, "'a'"},
      {"S6 offsets near 2^64", File(Tensor("I8", "[1]", "[18446744073709551614,18446744073709551615]"), 1),
       kSafetensorsBadOffset, "'a'"},
      {"S6 4 bits", File(Tensor("F4", "[3]", "[0,2]"), 2), kUnsupportedTensorType, "F4"},
      {"unknown type", File(Tensor("F31", "[1]", "[0,4]"), 4), kSafetensorsBadTensor, "F31"},
      {"float8", File(Tensor("F8_E4M3", "[4]", "[0,4]"), 4), kUnsupportedTensorType, "F8_E4M3"},
  };
}

TEST(Safetensors, EveryMalformedFileIsOneErrorThatNamesTheFault) {
  std::vector<SafetensorsCase> cases = HeaderCases();
  for (SafetensorsCase& row : DataCases()) cases.push_back(std::move(row));
  for (const SafetensorsCase& row : cases) {
    const auto file = SafetensorsFile::Parse(row.bytes, "test.safetensors");
    ASSERT_FALSE(file.has_value()) << row.row;
    const std::string message = Describe(file.error());
    EXPECT_EQ(InfoOf(file.error().code).name, InfoOf(row.code).name) << row.row << ": " << message;
    EXPECT_THAT(message, HasSubstr(row.names)) << row.row;
    EXPECT_TRUE(file.error().byte_offset.has_value()) << row.row;
    EXPECT_LE(file.error().byte_offset.value_or(0), row.bytes.size()) << row.row;
    EXPECT_LT(message.size(), 1000u) << row.row;
  }
}

TEST(Safetensors, ReadsWhatWasWritten) {
  const Bytes bytes =
      File(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},)"
           R"("empty":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]},)"
           R"("a":{"data_offsets":[0,4],"shape":[],"dtype":"F32"}}   )",
           16);
  const auto file = SafetensorsFile::Parse(bytes, "test.safetensors");
  ASSERT_TRUE(file.has_value()) << Describe(file.error());
  EXPECT_EQ(file->metadata().at("format"), "pt");
  EXPECT_EQ(file->tensors().size(), 3u);
  EXPECT_EQ(file->FindTensor("b")->shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(file->FindTensor("b")->dtype, DType::kBf16);
  EXPECT_EQ(file->Data(*file->FindTensor("b")).data(), bytes.data() + bytes.size() - 12);
  EXPECT_EQ(file->Data(*file->FindTensor("a")).size(), 4u);
  EXPECT_TRUE(file->Data(*file->FindTensor("empty")).empty());
  EXPECT_EQ(file->FindTensor("absent"), nullptr);
}

TEST(Safetensors, RefusesShardedModels) {
  const std::string folder = ::testing::TempDir() + "attend_sharded_" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  EXPECT_EQ(SafetensorsFile::Open(folder).error().code, ErrorCode::kFileIsDirectory);
  std::ofstream(folder + "/model.safetensors.index.json") << R"({"weight_map":{"a":"../x"}})";
  for (const std::string& path : {folder, folder + "/model.safetensors.index.json"}) {
    const auto file = SafetensorsFile::Open(path);
    ASSERT_FALSE(file.has_value());
    EXPECT_EQ(file.error().code, ErrorCode::kUnsupportedFeature);
    EXPECT_THAT(Describe(file.error()), HasSubstr("model.safetensors.index.json"));
  }
  std::filesystem::remove_all(folder);
}

TEST(Safetensors, TruncatedOrChangedAnywhereIsSurvived) {
  Bytes bytes = File(Tensor("F32", "[2,3]", "[0,24]"), 24);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_FALSE(SafetensorsFile::Parse(part, "part").has_value()) << size;
  }
  for (size_t bit = 0; bit < (bytes.size() - 24) * 8; ++bit) {
    const uint8_t mask = static_cast<uint8_t>(1 << (bit % 8));
    bytes[bit / 8] ^= mask;
    const auto file = SafetensorsFile::Parse(bytes, "flipped");
    ASSERT_TRUE(file.has_value() || !Describe(file.error()).empty());
    bytes[bit / 8] ^= mask;
  }
}

TEST(Safetensors, ManyTensorsLoadInLinearTime) {
  std::string header = "{";
  for (int i = 0; i < 300'000; ++i) {
    header += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  const Bytes bytes = File(header + "}", 0);
  const auto file = SafetensorsFile::Parse(bytes, "many");
  ASSERT_TRUE(file.has_value()) << Describe(file.error());
  EXPECT_EQ(file->FindTensor("t299999"), &file->tensors().back());
}

RC_GTEST_PROP(Safetensors, RoundTrip, (const std::vector<Bytes>& tensors)) {
  std::string header = "{";
  Bytes data;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const size_t begin = data.size();
    data.insert(data.end(), tensors[i].begin(), tensors[i].end());
    header += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) + R"(":{"dtype":"U8","shape":[)" +
              std::to_string(tensors[i].size()) + R"(],"data_offsets":[)" + std::to_string(begin) + "," +
              std::to_string(data.size()) + "]}";
  }
  Bytes bytes = File(header + "}", 0);
  bytes.insert(bytes.end(), data.begin(), data.end());
  const auto file = SafetensorsFile::Parse(bytes, "test.safetensors");
  if (!file) RC_FAIL(Describe(file.error()));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto read = file->Data(*file->FindTensor("t" + std::to_string(i)));
    RC_ASSERT(std::equal(read.begin(), read.end(), tensors[i].begin(), tensors[i].end()));
  }
}

}  // namespace
}  // namespace attend
