#include "formats/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

namespace attend {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::string Nested(size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(Json, BuildsTheSameValueAsTheLibrary) {
  for (const char* text :
       {"null", "true", "[]", "{}", "-1", "18446744073709551615", "1.5e3", "\"\\u00e9\\ud83d\\ude00\"",
        R"({"a":[1,[2,{"b":null}],"c"],"d":{"e":{},"f":[]},"g":-0.0})", " [ 1 , 2 ] "}) {
    const auto value = ParseJson(text, "test.json");
    ASSERT_TRUE(value.has_value()) << text << ": " << Describe(value.error());
    EXPECT_EQ(*value, json::parse(text)) << text;
  }
}

TEST(Json, RefusesWhatIsNotStrictJson) {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\":1,}", "[1 2]", "nul", "NaN", "1e999", "\"\\ud800\"",
                           "\"\xff\"", "\"\xc0\x80\"", "\"\x01\"", "[] []", "'a'", "// x\n1", "01", "{1:2}"}) {
    const auto value = ParseJson(text, "test.json");
    ASSERT_FALSE(value.has_value()) << text;
    EXPECT_EQ(value.error().code, ErrorCode::kJsonBad);
    EXPECT_TRUE(value.error().byte_offset.has_value());
  }
}

TEST(Json, RefusesAKeyThatStandsTwice) {
  const auto value = ParseJson(R"({"a":{"b":1,"c":2,"b":3}})", "test.json");
  ASSERT_FALSE(value.has_value());
  EXPECT_EQ(value.error().subject, "key 'b'");
  EXPECT_EQ(value.error().byte_offset, 21u);
  EXPECT_TRUE(ParseJson(R"({"a":{"a":1},"b":{"a":1}})", "test.json").has_value());
}

TEST(Json, BoundsTheDepth) {
  EXPECT_TRUE(ParseJson(Nested(64), "test.json").has_value());
  EXPECT_FALSE(ParseJson(Nested(65), "test.json").has_value());
  EXPECT_TRUE(ParseJson(Nested(8), "test.json", 8).has_value());
  EXPECT_FALSE(ParseJson(Nested(9), "test.json", 8).has_value());
  EXPECT_FALSE(ParseJson(std::string(1'000'000, '['), "test.json").has_value());
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_FALSE(ParseJson(objects, "test.json").has_value());
}

TEST(Json, MessagesStayShortAndPrintable) {
  const auto value = ParseJson("{\"" + std::string(100'000, 'k') + "\x1b[31m", "test.json");
  ASSERT_FALSE(value.has_value());
  const std::string message = Describe(value.error());
  EXPECT_LT(message.size(), 400u);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
}

RC_GTEST_PROP(Json, RoundTrip,
              (const std::map<std::string, std::vector<std::pair<int64_t, double>>>& members, bool flag)) {
  json value = {{"flag", flag}, {"members", json::object()}};
  size_t number = 0;
  for (const auto& [name, pairs] : members) {
    json list = json::array();
    for (const auto& [integer, real] : pairs)
      list.push_back({{"integer", integer}, {"real", real}, {"text", "\n\"\\"}});
    value["members"][std::to_string(number++)] = list;
  }
  const auto read = ParseJson(value.dump(), "test.json");
  if (!read) RC_FAIL(Describe(read.error()));
  RC_ASSERT(*read == json::parse(value.dump()));
}

RC_GTEST_PROP(Json, AnyBytesAreSurvived, (const std::string& text)) {
  RC_ASSERT(ParseJson(text, "test.json").has_value() == json::accept(text));
}

}  // namespace
}  // namespace attend
