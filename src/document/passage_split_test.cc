#include "document/passage_split.h"

#include <gtest/gtest.h>

#include <string>

#include "base/mapped_file.h"

namespace attend {
namespace {

// A token a word, with the white space before it, as the real tokenizers have it.
Encoding WordTokens(std::string_view text) {
  Encoding encoding;
  const auto is_space = [&](size_t i) { return text[i] == ' ' || text[i] == '\n'; };
  for (size_t i = 0; i < text.size();) {
    encoding.ids.push_back(0);
    encoding.offsets.push_back(i);
    while (i < text.size() && is_space(i)) ++i;
    while (i < text.size() && !is_space(i)) ++i;
  }
  return encoding;
}

std::string Words(int count, const std::string& last = "end.") {
  std::string text;
  for (int i = 1; i < count; ++i) text += "word ";
  return text + last;
}

std::vector<Passage> Split(const std::string& text, const PassageLimits& limits = {}) {
  return SplitPassages(text, WordTokens(text), SplitText(text), limits);
}

std::vector<int64_t> Sizes(const std::vector<Passage>& passages) {
  std::vector<int64_t> sizes;
  for (const Passage& passage : passages) sizes.push_back(passage.tokens.size());
  return sizes;
}

TEST(PassageSplit, AParagraphIsAPassage) {
  const std::string text = Words(50) + "\n\n" + Words(60) + "\n\n" + Words(70);
  const std::vector<Passage> passages = Split(text);
  EXPECT_EQ(Sizes(passages), (std::vector<int64_t>{50, 60, 70}));
  EXPECT_EQ(TextOf(text, passages[1].range), Words(60));
}

TEST(PassageSplit, AHeadingJoinsWhatFollows) {
  EXPECT_EQ(Sizes(Split("1. Fees\n\n" + Words(50) + "\n\n2. Term\n\n" + Words(60))), (std::vector<int64_t>{52, 62}));
  // A new heading closes a passage of fewer tokens than the minimum, but not one of a few words.
  EXPECT_EQ(Sizes(Split("1. Fees\n\n" + Words(20) + "\n\n2. Term\n\n" + Words(60))), (std::vector<int64_t>{22, 62}));
  EXPECT_EQ(Sizes(Split("CONTRACT\n\n1. Fees\n\n" + Words(60))), (std::vector<int64_t>{63}));
}

TEST(PassageSplit, AHeadingAnnouncesAndSaysNothing) {
  for (const char* heading :
       {"Term and Termination", "5. Conveying Modified Source Versions.", "ARTICLE 2. FEES", "第三条 费用"})
    EXPECT_TRUE(LooksLikeHeading(heading, 8)) << heading;
  for (const char* sentence : {"5. The Supplier delivers monthly.", "He left.", "(a) It Ends.", "The Term Ends."})
    EXPECT_FALSE(LooksLikeHeading(sentence, 8)) << sentence;
  EXPECT_FALSE(LooksLikeHeading("Term and Termination", 40));
}

TEST(PassageSplit, ShortParagraphsAreMerged) {
  EXPECT_EQ(Sizes(Split(Words(15) + "\n\n" + Words(15) + "\n\n" + Words(15) + "\n\n" + Words(50))),
            (std::vector<int64_t>{45, 50}));
  EXPECT_EQ(Sizes(Split(Words(15) + "\n\n" + Words(199))),
            (std::vector<int64_t>{15, 199}));  // not into one that is full
}

TEST(PassageSplit, LongParagraphsAreSplitEvenlyAtSentences) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "Then " + Words(9, "end. ");  // a sentence begins with a capital
  EXPECT_EQ(Sizes(Split(text)), (std::vector<int64_t>{150, 151}));   // the space at the end is a token here
  EXPECT_EQ(Sizes(Split(Words(500))), (std::vector<int64_t>{500}));  // one sentence stays whole
}

TEST(PassageSplit, EverySentenceAndTokenLiesInOnePassage) {
  for (const char* name : {"contract.txt", "contract.zh.txt", "gpl-3.txt", "dev/rental.txt", "dev/apache-2.txt"}) {
    const std::string text = *ReadTextFile(std::string(ATTEND_SOURCE_DIR "/tests/data/") + name, 1 << 20);
    const Encoding encoding = WordTokens(text);
    const TextParts parts = SplitText(text);
    const std::vector<Passage> passages = SplitPassages(text, encoding, parts);
    size_t sentence = 0;
    int64_t token = 0;
    for (const Passage& passage : passages) {
      EXPECT_EQ(passage.first_sentence, sentence);
      EXPECT_GT(passage.end_sentence, passage.first_sentence);
      EXPECT_EQ(passage.range.begin, parts.sentences[passage.first_sentence].range.begin);
      EXPECT_EQ(passage.range.end, parts.sentences[passage.end_sentence - 1].range.end);
      EXPECT_EQ(passage.tokens.begin, token);
      sentence = passage.end_sentence;
      token = passage.tokens.end;
    }
    EXPECT_EQ(sentence, parts.sentences.size());
    EXPECT_EQ(token, static_cast<int64_t>(encoding.ids.size()));
  }
}

TEST(PassageSplit, NoTextNoPassages) {
  EXPECT_TRUE(Split("").empty());
  EXPECT_TRUE(Split(" \n\n ").empty());
}

}  // namespace
}  // namespace attend
