#include "text/detokenizer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"
#include "text/test_tables.h"

namespace attend {
namespace {

// A vocabulary of all 256 bytes, so that any bytes can come token by token.
const Tokenizer& Bytes() {
  static const Tokenizer tokenizer = [] {
    TokenizerTables tables;
    tables.pre = "gpt-2";
    for (uint32_t c = 0x21; c < 0x180 && tables.tokens.size() < 256; ++c) {
      std::string spelling;
      AppendUtf8(c, spelling);
      if (BytesOfSpelling(spelling)) tables.tokens.push_back(spelling);
    }
    tables.token_types.assign(tables.tokens.size(), kNormalToken);
    return *Tokenizer::Make(tables);
  }();
  return tokenizer;
}

std::string Stream(const Tokenizer& tokenizer, std::span<const uint32_t> ids, bool skip_special) {
  Detokenizer detokenizer(tokenizer, skip_special);
  std::string text;
  for (const uint32_t id : ids) {
    const std::string delta = detokenizer.Push(id);
    EXPECT_FALSE(FindInvalidUtf8(delta));
    text += delta;
  }
  return text + detokenizer.Flush();
}

TEST(Detokenizer, HoldsTheStartOfACharacter) {
  const std::vector<uint32_t> ids = testing::SmolLm2().Encode("😀");
  ASSERT_GT(ids.size(), 1u);
  Detokenizer detokenizer(testing::SmolLm2(), true);
  for (size_t i = 0; i + 1 < ids.size(); ++i) EXPECT_EQ(detokenizer.Push(ids[i]), "");
  EXPECT_EQ(detokenizer.Push(ids.back()), "😀");
  EXPECT_EQ(detokenizer.Flush(), "");
}

TEST(Detokenizer, FlushesAnIncompleteCharacterOnce) {
  Detokenizer detokenizer(testing::SmolLm2(), true);
  EXPECT_EQ(detokenizer.Push(testing::SmolLm2().Encode("😀")[0]), "");
  EXPECT_EQ(detokenizer.Flush(), "\uFFFD");
  EXPECT_EQ(detokenizer.Flush(), "");
}

TEST(Detokenizer, LeavesSpecialsOutWhenAsked) {
  const std::vector<uint32_t> ids = {81, 2, 81};
  EXPECT_EQ(Stream(testing::SmolLm2(), ids, true), "aa");
  EXPECT_EQ(Stream(testing::SmolLm2(), ids, false), "a<|im_end|>a");
}

RC_GTEST_PROP(Detokenizer, DeltasOfAnyTokensAreTheDecodedText, (bool skip_special)) {
  const auto ids = *rc::gen::container<std::vector<uint32_t>>(rc::gen::inRange<uint32_t>(0, 49153));
  RC_ASSERT(Stream(testing::SmolLm2(), ids, skip_special) == testing::SmolLm2().Decode(ids, skip_special));
}

RC_GTEST_PROP(Detokenizer, DeltasOfAnyBytesAreTheDecodedText, ()) {
  // Lead and continuation bytes often, so that characters are whole, cut and overlong.
  const auto byte =
      rc::gen::element('a', '\x80', '\xbf', '\xc3', '\xe0', '\xe4', '\xed', '\xf0', '\xf4', '\xa0', '\x90', '\xff');
  const auto bytes = *rc::gen::container<std::string>(byte);
  std::vector<uint32_t> ids;
  for (const char c : bytes) {
    for (uint32_t id = 0; id < Bytes().vocab_size(); ++id) {
      if (Bytes().TokenBytes(id)[0] == c) ids.push_back(id);
    }
  }
  RC_ASSERT(ids.size() == bytes.size());
  std::string expected;
  ReplaceInvalidUtf8(bytes, expected);
  RC_ASSERT(Stream(Bytes(), ids, false) == expected);
}

}  // namespace
}  // namespace attend
