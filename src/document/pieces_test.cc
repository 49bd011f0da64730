#include "document/pieces.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "document/passages.h"

namespace attend {
namespace {

// One token a byte: token index and byte offset are the same.
Encoding BytesAsTokens(const std::string& text) {
  Encoding encoding;
  for (size_t i = 0; i < text.size(); ++i) {
    encoding.ids.push_back(static_cast<uint8_t>(text[i]));
    encoding.offsets.push_back(i);
  }
  return encoding;
}

RC_GTEST_PROP(CutPieces, EveryTokenLiesInExactlyOnePieceOfAllowedSize, ()) {
  const auto words = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 30)));
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    text += std::string(static_cast<size_t>(words[i]), 'a') + (words[i] % 5 == 0   ? ".\n\n"
                                                               : words[i] % 3 == 0 ? ". "
                                                                                   : " ");
  }
  const int64_t num_pieces = *rc::gen::inRange(1, 9), max_tokens = *rc::gen::inRange(1, 200);
  const auto pieces = CutPieces(BytesAsTokens(text), SplitText(text), num_pieces, max_tokens);
  int64_t next = 0;
  for (const TokenRange& piece : pieces) {
    RC_ASSERT(piece.begin == next);
    RC_ASSERT(piece.size() > 0);
    RC_ASSERT(piece.size() <= max_tokens);
    next = piece.end;
  }
  RC_ASSERT(next == static_cast<int64_t>(text.size()));
}

TEST(CutPieces, BordersFallBetweenParagraphsWhereOneIsNear) {
  const std::string first = std::string(45, 'a') + ".\n\n", second = std::string(50, 'b') + ".";
  const std::string text = first + second;
  const auto pieces = CutPieces(BytesAsTokens(text), SplitText(text), 2, 60);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].end, static_cast<int64_t>(first.size()));
}

TEST(TopPassages, RanksSentencesByTheirShareOfTheMass) {
  const std::string text = "Aaaa. Bbbb. Cccc.";
  const Encoding encoding = BytesAsTokens(text);
  const TextParts parts = SplitText(text);
  ASSERT_EQ(parts.sentences.size(), 3u);
  std::vector<double> mass(text.size(), 0.0);
  mass[1] = 1;  // first sentence
  mass[8] = 3;  // second
  const auto top = TopPassages(mass, 0, encoding.offsets, parts.sentences, 2);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].sentence, 1u);
  EXPECT_DOUBLE_EQ(top[0].share, 0.75);
  EXPECT_EQ(top[1].sentence, 0u);
}

}  // namespace
}  // namespace attend
