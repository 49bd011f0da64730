#include "text/tokenizer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "text/test_tables.h"

namespace attend {
namespace {

using nlohmann::json;
using testing::SmolLm2;
using testing::TinyTables;
using Ids = std::vector<uint32_t>;

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

json Golden() {
  std::ifstream file(ATTEND_SOURCE_DIR "/tests/golden/smollm2/tokenizer_vectors.json");
  return json::parse(file);
}

bool HasSpecial(const Ids& ids) {
  return std::any_of(ids.begin(), ids.end(), [](uint32_t id) { return SmolLm2().IsSpecial(id); });
}

// Code points, specials' names and plain words in any order.
rc::Gen<std::string> TextWithSpecialNames() {
  std::vector<std::string> parts = {" ", "\n", "a",   "is", "12",   "世界", "é", "<",
                                    "|", ">",  "im_", "😀",  "\x04", "\xff", "."};
  for (uint32_t id = 0; id < 17; ++id) parts.emplace_back(SmolLm2().TokenBytes(id));
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(parts)),
                      [](const std::vector<std::string>& all) {
                        std::string text;
                        for (const std::string& part : all) text += part;
                        return text;
                      });
}

TEST(Tokenizer, EncodesAndDecodesTheGoldenVectors) {
  const json golden = Golden();
  ASSERT_EQ(golden.at("vectors").size(), 163u);
  for (const json& vector : golden.at("vectors")) {
    const std::string text = FromHex(vector.at("utf8_hex"));
    const Ids ids = vector.at("ids");
    const Ids with_specials = vector.at("ids_special");
    EXPECT_EQ(SmolLm2().Encode(text), ids) << vector.at("name");
    EXPECT_EQ(SmolLm2().EncodeWithOffsets(text).ids, ids) << vector.at("name");
    EXPECT_EQ(SmolLm2().EncodeWithSpecials(text), with_specials) << vector.at("name");
    // Where bytes without a token were dropped, the golden bytes may be ill-formed; Decode replaces those.
    std::string decoded;
    ReplaceInvalidUtf8(vector.contains("decoded_hex") ? FromHex(vector.at("decoded_hex")) : text, decoded);
    EXPECT_EQ(SmolLm2().Decode(ids, false), decoded) << vector.at("name");
    if (vector.contains("decoded_skip_special_hex")) {
      EXPECT_EQ(SmolLm2().Decode(with_specials, true), FromHex(vector.at("decoded_skip_special_hex")))
          << vector.at("name");
    }
  }
}

TEST(Tokenizer, ReplacesInvalidUtf8AsTheGoldenVectors) {
  const json golden = Golden();
  for (const json& vector : golden.at("invalid_utf8")) {
    EXPECT_EQ(SmolLm2().Encode(FromHex(vector.at("bytes_hex"))), vector.at("ids").get<Ids>()) << vector.at("name");
  }
}

TEST(Tokenizer, KnowsItsSpecials) {
  const json golden = Golden();
  for (const auto& [name, id] : golden.at("special_ids").items()) {
    EXPECT_EQ(SmolLm2().FindSpecial(name), id.get<uint32_t>());
    EXPECT_TRUE(SmolLm2().IsSpecial(id));
    EXPECT_EQ(SmolLm2().TokenBytes(id), name);
  }
  EXPECT_FALSE(SmolLm2().IsSpecial(17));
  EXPECT_FALSE(SmolLm2().IsSpecial(1u << 31));
  EXPECT_FALSE(SmolLm2().FindSpecial("!"));
  EXPECT_FALSE(SmolLm2().FindSpecial("<|im_end|>x"));
  EXPECT_EQ(SmolLm2().vocab_size(), 49152u);
  EXPECT_EQ(SmolLm2().bos_id(), 1u);
  EXPECT_EQ(SmolLm2().eos_id(), 2u);
  EXPECT_FALSE(SmolLm2().add_bos());
  EXPECT_TRUE(std::ranges::equal(SmolLm2().stop_ids(), Ids{2, 0}));
  EXPECT_TRUE(SmolLm2().IsStop(0));
  EXPECT_FALSE(SmolLm2().IsStop(4));
}

TEST(Tokenizer, SurvivesOneLongWord) {
  // Quadratic merging takes minutes here and meets the test's time limit.
  const std::string word(100'000, 'a');
  const Ids ids = SmolLm2().Encode(word);
  EXPECT_EQ(SmolLm2().Decode(ids, false), word);
  EXPECT_EQ(SmolLm2().Encode(std::string(1'000'000, '\n')).empty(), false);
}

TEST(Tokenizer, IgnoresIdsOutsideTheVocabulary) {
  EXPECT_EQ(SmolLm2().Decode(Ids{81, 49152, UINT32_MAX}, false), "a");
  EXPECT_EQ(SmolLm2().TokenBytes(49152), "");
}

RC_GTEST_PROP(Tokenizer, PlainTextNeverYieldsAControlToken, ()) {
  RC_ASSERT(!HasSpecial(SmolLm2().Encode(*TextWithSpecialNames())));
}

TEST(Tokenizer, NoPlaceOfASpecialNameYieldsAControlToken) {
  for (uint32_t id = 0; id < 17; ++id) {
    const std::string name(SmolLm2().TokenBytes(id));
    for (const std::string before : {"", " ", "\n", "a", "5", "<", "世", "\xff", "<|im_start|>"}) {
      for (const std::string after : {"", " ", "\n", "a", "5", ">", "界", "\xe4", "<|im_end|>"}) {
        EXPECT_FALSE(HasSpecial(SmolLm2().Encode(before + name + after))) << before << name << after;
        EXPECT_TRUE(HasSpecial(SmolLm2().EncodeWithSpecials(before + name + after))) << before << name << after;
      }
    }
  }
}

// A token's bytes stand in the text at its offset, unless a byte without a token lies inside it.
RC_GTEST_PROP(Tokenizer, OffsetsPointAtTheTokensBytes, ()) {
  const std::string text = *TextWithSpecialNames();
  const Encoding encoding = SmolLm2().EncodeWithOffsets(text);
  RC_ASSERT(encoding.offsets.size() == encoding.ids.size());
  RC_ASSERT(std::is_sorted(encoding.offsets.begin(), encoding.offsets.end()));
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    RC_ASSERT(encoding.offsets[i] < text.size());
    const std::string_view bytes = SmolLm2().TokenBytes(encoding.ids[i]);
    const bool is_replacement = std::string_view("\xef\xbf\xbd").find(bytes[0]) != std::string_view::npos &&
                                text[encoding.offsets[i]] == '\xff';
    RC_ASSERT(is_replacement || text[encoding.offsets[i]] == bytes[0]);
  }
}

TEST(Tokenizer, OffsetsCountBytesOfTheOriginal) {
  const std::string text =
      "a\xff"
      "b \xe4\xbb c";
  const Encoding encoding = SmolLm2().EncodeWithOffsets(text);
  EXPECT_EQ(encoding.ids, SmolLm2().Encode("a\uFFFDb \uFFFD c"));
  EXPECT_EQ(encoding.offsets.front(), 0u);
  EXPECT_EQ(encoding.offsets.back(), 6u);  // " c"
}

TEST(Tokenizer, TakesTheLongestSpecial) {
  TokenizerTables tables = TinyTables();
  tables.tokens.push_back("<x>>");
  tables.token_types.push_back(kUserDefinedToken);
  const Tokenizer tokenizer = *Tokenizer::Make(tables);
  EXPECT_EQ(tokenizer.EncodeWithSpecials("a<x>>b<x>"), (Ids{1, 11, 2, 0}));
  EXPECT_EQ(tokenizer.Encode("<x>>"), (Ids{7, 8, 9, 9}));
  EXPECT_FALSE(tokenizer.IsSpecial(11));
}

TEST(Tokenizer, ReplacesHalfACharacterWhenDecoding) {
  const Tokenizer tokenizer = *Tokenizer::Make(TinyTables());
  EXPECT_EQ(tokenizer.Decode(Ids{5, 6}, false), "é");
  EXPECT_EQ(tokenizer.Decode(Ids{1, 5, 1}, false), "a\uFFFDa");
  EXPECT_EQ(tokenizer.Encode("ababé"), (Ids{10, 5, 6}));
}

}  // namespace
}  // namespace attend
