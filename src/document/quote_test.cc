#include "document/quote.h"

#include <gtest/gtest.h>

#include <string>

namespace attend {
namespace {

// A heading, then sentences of one passage; a token a byte.
struct TinyDocument {
  std::string text = "Fees\n\nThe fee is 5 marks. It is paid in March. Late fees cost more.";
  TextParts parts = SplitText(text);
  Encoding encoding;
  EvidenceDocument document;

  TinyDocument() {
    for (size_t i = 0; i < text.size(); ++i) {
      encoding.ids.push_back(0);
      encoding.offsets.push_back(i);
    }
    document.text = text;
    document.encoding = &encoding;
    document.parts = &parts;
    document.passages = SplitPassages(text, encoding, parts);
  }

  std::vector<std::string> Chosen(const std::vector<std::vector<int64_t>>& rankings, size_t count) const {
    std::vector<std::string> texts;
    for (const Quote& quote : ChooseSentences(document, document.passages[0], rankings, count)) {
      EXPECT_EQ(quote.range, parts.sentences[quote.sentence].range);
      texts.emplace_back(TextOf(text, quote.range));
    }
    return texts;
  }
};

Evidence Ranked(const std::vector<RankedPassage>& passages) {
  return {.nothing = false, .confidence = 2, .passages = passages};
}

TEST(Quote, TakesTheBestSentencesVerbatimInTheOrderOfTheText) {
  const TinyDocument tiny;
  ASSERT_EQ(tiny.document.passages.size(), 1u);
  ASSERT_EQ(tiny.parts.sentences.size(), 4u);
  EXPECT_EQ(tiny.Chosen({{4, 2, 3, 1}, {4, 3, 2, 1}}, 1), (std::vector<std::string>{"Late fees cost more."}));
  EXPECT_EQ(tiny.Chosen({{4, 2, 3, 1}, {4, 2, 3, 1}}, 2),
            (std::vector<std::string>{"The fee is 5 marks.", "Late fees cost more."}));
  EXPECT_EQ(tiny.Chosen({{4, 2, 3, 1}}, 9).size(), 3u);
}

TEST(Quote, AHeadingIsNoAnswerWhileThereIsASentence) {
  const TinyDocument tiny;
  EXPECT_EQ(tiny.Chosen({{1, 2, 3, 4}}, 1), (std::vector<std::string>{"The fee is 5 marks."}));
}

TEST(Quote, AgreementDecidesHowManyPassages) {
  const RankedPassage first{.passage = 3, .bm25_rank = 1, .likelihood_rank = 1, .attention_rank = 1};
  RankedPassage without_attention = first;
  without_attention.attention_rank = 0;
  RankedPassage doubted = first;
  doubted.likelihood_rank = 2;
  EXPECT_EQ(SentencesToQuote(Ranked({first, doubted})), (std::vector<size_t>{2}));
  EXPECT_EQ(SentencesToQuote(Ranked({without_attention, doubted})), (std::vector<size_t>{2}));
  EXPECT_EQ(SentencesToQuote(Ranked({doubted, first, first, first})), (std::vector<size_t>{1, 1, 1}));
  EXPECT_EQ(SentencesToQuote(Ranked({doubted, first})), (std::vector<size_t>{1, 1}));
  EXPECT_TRUE(SentencesToQuote(Ranked({})).empty());
}

}  // namespace
}  // namespace attend
