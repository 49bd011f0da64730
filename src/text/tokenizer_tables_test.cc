#include "text/tokenizer_tables.h"

#include <gtest/gtest.h>

#include <functional>

#include "text/test_tables.h"

namespace attend {
namespace {

struct BadTable {
  const char* what;
  std::function<void(TokenizerTables&)> change;
  ErrorCode code;
  const char* says;
};

const BadTable kBadTables[] = {
    {"algorithm", [](auto& t) { t.model = "llama"; }, ErrorCode::kTokenizerUnsupported, "'llama'"},
    {"pre-tokeniser", [](auto& t) { t.pre = "qwen2"; }, ErrorCode::kTokenizerUnsupported, "'qwen2'"},
    {"no tokens", [](auto& t) { t.tokens.clear(); }, ErrorCode::kTokenizerBad, "tokens"},
    {"too many tokens", [](auto& t) { t.tokens.resize(kMaxVocabSize + 1); }, ErrorCode::kTokenizerBad, "4194305"},
    {"types shorter than tokens", [](auto& t) { t.token_types.pop_back(); }, ErrorCode::kTokenizerBad, "token types"},
    {"types longer than tokens", [](auto& t) { t.token_types.push_back(1); }, ErrorCode::kTokenizerBad, "token types"},
    {"empty token", [](auto& t) { t.tokens[2].clear(); }, ErrorCode::kTokenizerBad, "token 2"},
    {"token of 64 KiB and one", [](auto& t) { t.tokens[2].assign(kMaxTokenBytes + 1, 'a'); }, ErrorCode::kTokenizerBad,
     "65537"},
    {"one text twice", [](auto& t) { t.tokens[2] = "a"; }, ErrorCode::kTokenizerBad, "no other token"},
    {"eos outside", [](auto& t) { t.eos_id = 11; }, ErrorCode::kTokenizerBad, "eos id"},
    {"bos outside", [](auto& t) { t.bos_id = 1u << 31; }, ErrorCode::kTokenizerBad, "2147483648"},
    {"merge without space", [](auto& t) { t.merges[0] = "ab"; }, ErrorCode::kTokenizerBad, "merge 0"},
    {"join longer than any token", [](auto& t) { t.merges.push_back("abab abab"); }, ErrorCode::kTokenizerBad,
     "'abababab'"},
    {"merge of an unknown token", [](auto& t) { t.merges[1] = "q ab"; }, ErrorCode::kTokenizerBad, "merge 1"},
    {"merge to a control token",
     [](auto& t) { t.merges.push_back("<x >"), t.tokens.push_back("<x"), t.token_types.push_back(1); },
     ErrorCode::kTokenizerBad, "'<x>'"},
    {"empty half of a merge", [](auto& t) { t.merges[1] = " ab"; }, ErrorCode::kTokenizerBad, "merge 1"},
    {"merge twice", [](auto& t) { t.merges.push_back("a b"); }, ErrorCode::kTokenizerBad, "merge 2"},
};

TEST(TokenizerTables, RefusesTablesThatContradictThemselves) {
  ASSERT_TRUE(Tokenizer::Make(testing::TinyTables()));
  for (const BadTable& bad : kBadTables) {
    TokenizerTables tables = testing::TinyTables();
    bad.change(tables);
    const auto tokenizer = Tokenizer::Make(std::move(tables));
    ASSERT_FALSE(tokenizer) << bad.what;
    EXPECT_EQ(tokenizer.error().code, bad.code) << bad.what;
    EXPECT_NE(Describe(tokenizer.error()).find(bad.says), std::string::npos) << Describe(tokenizer.error());
  }
}

TEST(TokenizerTables, ShowsOnlyTheStartOfALongText) {
  TokenizerTables tables = testing::TinyTables();
  tables.merges.push_back(std::string(100'000, 'q') + " a");
  const auto tokenizer = Tokenizer::Make(std::move(tables));
  ASSERT_FALSE(tokenizer);
  EXPECT_LT(Describe(tokenizer.error()).size(), 300u);
}

TEST(TokenizerTables, TokensOutsideTheAlphabetStandForThemselves) {
  TokenizerTables tables = testing::TinyTables();
  tables.tokens[1] = "世";
  tables.merges.clear();
  const Tokenizer tokenizer = *Tokenizer::Make(tables);
  EXPECT_EQ(tokenizer.TokenBytes(1), "世");
  EXPECT_TRUE(tokenizer.Encode("世").empty());
}

}  // namespace
}  // namespace attend
