#include "text/pretokenizer.h"

#include <gtest/gtest.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "text/unicode.h"

namespace attend {
namespace {

using nlohmann::json;

std::vector<size_t> PieceBytes(PretokenizerKind kind, std::string_view text) {
  std::vector<size_t> sizes;
  size_t position = 0;
  PieceSplitter splitter(kind, text);
  for (ByteRange piece; splitter.Next(piece);) {
    EXPECT_EQ(piece.begin, position);
    sizes.push_back(piece.size());
    position = piece.end;
  }
  EXPECT_EQ(position, text.size());
  return sizes;
}

// GPT-2's own regex run by PCRE2: what the hand-written splitter is compared with.
class RegexOracle {
 public:
  RegexOracle() {
    constexpr const char* kPattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kPattern), PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &error,
                          &offset, nullptr);
    match_ = pcre2_match_data_create_from_pattern(code_, nullptr);
    context_ = pcre2_match_context_create(nullptr);
    pcre2_set_match_limit(context_, 1'000'000);
  }
  ~RegexOracle() {
    pcre2_match_context_free(context_);
    pcre2_match_data_free(match_);
    pcre2_code_free(code_);
  }

  void Append(std::string_view text, std::vector<size_t>& sizes) const {
    for (size_t position = 0; position < text.size();) {
      const int found =
          pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), position, 0, match_, context_);
      ASSERT_GT(found, 0) << "the regex matches every text";
      const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(match_);
      ASSERT_EQ(ends[0], position);
      sizes.push_back(ends[1] - ends[0]);
      position = ends[1];
    }
  }

  std::vector<size_t> Split(PretokenizerKind kind, std::string_view text) const {
    std::vector<size_t> sizes;
    size_t stretch = 0;
    for (size_t i = 0; i < text.size() && kind == PretokenizerKind::kSmollm;) {
      const Utf8Step step = DecodeUtf8(text, i);
      if (IsNumber(step.code_point)) {
        Append(text.substr(stretch, i - stretch), sizes);
        sizes.push_back(step.length);
        stretch = i + step.length;
      }
      i += step.length;
    }
    Append(text.substr(stretch), sizes);
    return sizes;
  }

 private:
  pcre2_code* code_;
  pcre2_match_data* match_;
  pcre2_match_context* context_;
};

// Text in which every branch of the regex is likely.
rc::Gen<std::string> SpikyText() {
  const auto parts = rc::gen::element<std::string>(
      " ", " ", "  ", "\n", "\t", "\r\n", "a", "Zq", "é", "世", "5", "42", "٣", "½", "Ⅷ", "'", "'s", "'re", "'ll", "'D",
      ".", "!?", "😀", "\u00a0", "\u3000", "\u200b", "\u0301", "\u0085", "_", "ª", "\u1680");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(parts), [](const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& part : all) text += part;
    return text;
  });
}

TEST(Pretokenizer, KnowsItsNames) {
  EXPECT_EQ(*PretokenizerNamed("smollm"), PretokenizerKind::kSmollm);
  EXPECT_EQ(*PretokenizerNamed("gpt-2"), PretokenizerKind::kGpt2);
  EXPECT_EQ(*PretokenizerNamed("gpt2"), PretokenizerKind::kGpt2);
}

TEST(Pretokenizer, NamesTheUnknownOne) {
  const auto result = PretokenizerNamed("llama-bpe");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kTokenizerUnsupported);
  EXPECT_NE(Describe(result.error()).find("llama-bpe"), std::string::npos);
}

TEST(Pretokenizer, SplitsAsTheGoldenVectors) {
  std::ifstream file(ATTEND_SOURCE_DIR "/tests/golden/smollm2/tokenizer_vectors.json");
  const json vectors = json::parse(file).at("vectors");
  ASSERT_EQ(vectors.size(), 163u);
  for (const json& vector : vectors) {
    std::string text;
    const std::string hex = vector.at("utf8_hex");
    for (size_t i = 0; i < hex.size(); i += 2) text += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    EXPECT_EQ(PieceBytes(PretokenizerKind::kSmollm, text), vector.at("piece_bytes").get<std::vector<size_t>>())
        << vector.at("name");
  }
}

TEST(Pretokenizer, SpacesBeforeADigitDependOnTheKind) {
  using Sizes = std::vector<size_t>;
  EXPECT_EQ(PieceBytes(PretokenizerKind::kGpt2, "a  12"), (Sizes{1, 1, 3}));
  EXPECT_EQ(PieceBytes(PretokenizerKind::kSmollm, "a  12"), (Sizes{1, 2, 1, 1}));
}

RC_GTEST_PROP(Pretokenizer, AgreesWithTheRegex, ()) {
  static const RegexOracle oracle;
  const std::string text = *SpikyText();
  for (const PretokenizerKind kind : {PretokenizerKind::kGpt2, PretokenizerKind::kSmollm}) {
    RC_ASSERT(PieceBytes(kind, text) == oracle.Split(kind, text));
  }
}

RC_GTEST_PROP(Pretokenizer, CoversAnyBytes, (const std::string& text)) {
  PieceBytes(PretokenizerKind::kSmollm, text);
}

}  // namespace
}  // namespace attend
