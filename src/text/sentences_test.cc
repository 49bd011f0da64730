#include "text/sentences.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/mapped_file.h"
#include "base/utf8.h"
#include "text/line_markers.h"
#include "text/unicode.h"

namespace attend {
namespace {

using Texts = std::vector<std::string>;

std::string OneLine(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\r';
    if (!space) out += c;
    if (space && !out.ends_with(' ')) out += ' ';
  }
  return out;
}

Texts Sentences(std::string_view text) {
  Texts sentences;
  for (const Sentence& sentence : SplitText(text).sentences) sentences.push_back(OneLine(TextOf(text, sentence.range)));
  return sentences;
}

std::string TestData(const std::string& name) {
  return *ReadTextFile(ATTEND_SOURCE_DIR "/tests/data/" + name, 1 << 20);
}

TEST(Sentences, EndAtMarksBeforeSpaceQuoteOrEnd) {
  EXPECT_EQ(Sentences("One. Two! Three? \"Four.\" (Five.) Six"),
            (Texts{"One.", "Two!", "Three?", "\"Four.\"", "(Five.)", "Six"}));
  EXPECT_EQ(Sentences("Wait... what? No!? Yes."), (Texts{"Wait... what?", "No!?", "Yes."}));
  EXPECT_EQ(Sentences("\"Really?\" he said. See a.b or x.y(z)."),
            (Texts{"\"Really?\" he said.", "See a.b or x.y(z)."}));
  EXPECT_EQ(Sentences(""), Texts{});
  EXPECT_EQ(Sentences(" \n\n\t"), Texts{});
}

TEST(Sentences, DoNotEndAtAbbreviationsInitialsAndNumbers) {
  for (const char* text : {"Use fruit, e.g. Apples, i.e. No pears.", "See No. 5 and Art. 7 of it.",
                           "Mr. Smith met Dr. J. R. Jones.", "Lantern Ltd. Harbour and Foods Inc. Quarry sign.",
                           "The U.S. Government v. Roe was long.", "It is 1.5% or 18.400 now."}) {
    EXPECT_EQ(Sentences(text), Texts{text});
  }
  EXPECT_EQ(Sentences("The answer is No. The next is not."), (Texts{"The answer is No.", "The next is not."}));
  EXPECT_EQ(Sentences("It is in Schedule A. Work goes on."), (Texts{"It is in Schedule A.", "Work goes on."}));
  EXPECT_EQ(Sentences("It was 2031. Then 2032 came."), (Texts{"It was 2031.", "Then 2032 came."}));
  EXPECT_EQ(Sentences("Pens, ink, etc. More of it."), (Texts{"Pens, ink, etc.", "More of it."}));
}

TEST(Sentences, KeepTheNumberOfTheirClause) {
  EXPECT_EQ(Sentences("1. Pay on time."), Texts{"1. Pay on time."});
  EXPECT_EQ(Sentences("7.2 Pay. Then wait."), (Texts{"7.2 Pay.", "Then wait."}));
  EXPECT_EQ(Sentences("ARTICLE 1. THE MERGER"), Texts{"ARTICLE 1. THE MERGER"});
  EXPECT_EQ(Sentences("(a) first;\n(b) second."), (Texts{"(a) first;", "(b) second."}));
  EXPECT_EQ(Sentences("Fees\n1. Pay\n2. Wait"), (Texts{"Fees", "1. Pay", "2. Wait"}));
}

TEST(Sentences, TakeHeadingsApartAndJoinWrappedLines) {
  EXPECT_EQ(Sentences("Scope\n\nThis text was wrapped by hand at a width of\nsome fifty columns. It goes on here "
                      "until\nthe end.\n"),
            (Texts{"Scope", "This text was wrapped by hand at a width of some fifty columns.",
                   "It goes on here until the end."}));
  // A number that begins a wrapped line is no clause.
  EXPECT_EQ(Sentences("released under this License and any conditions added under section\n7.  This requirement "
                      "modifies section 4."),
            (Texts{"released under this License and any conditions added under section 7.",
                   "This requirement modifies section 4."}));
}

TEST(Sentences, EndAtChineseMarks) {
  EXPECT_EQ(Sentences("甲方应当付款。乙方“应当”交货！为什么？因为合同"),
            (Texts{"甲方应当付款。", "乙方“应当”交货！", "为什么？", "因为合同"}));
  EXPECT_EQ(Sentences("他说：“好。”然后走了。"), (Texts{"他说：“好。”", "然后走了。"}));
  EXPECT_EQ(Sentences("第一条 范围\n第二条 期限\n"), (Texts{"第一条 范围", "第二条 期限"}));
}

TEST(Sentences, OfTheContract) {
  const std::string text = TestData("contract.txt");
  const TextParts parts = SplitText(text);
  EXPECT_EQ(parts.paragraphs.size(), 8u);
  const Texts sentences = Sentences(text);
  ASSERT_EQ(sentences.size(), 20u);
  EXPECT_EQ(sentences[0], "SERVICES AGREEMENT");
  EXPECT_EQ(sentences[2], "1. Scope.");
  EXPECT_EQ(sentences[11], "Late amounts bear interest at 1.5% per month.");
  EXPECT_EQ(parts.sentences[11].paragraph, 4u);
  EXPECT_EQ(sentences[19], "Disputes go first to mediation and then to the courts of that district.");
}

TEST(Sentences, OfTheGpl) {
  const std::string text = TestData("gpl-3.txt");
  const Texts sentences = Sentences(text);
  const auto has = [&](std::string_view wanted) {
    return std::find(sentences.begin(), sentences.end(), wanted) != sentences.end();
  };
  for (const char* wanted :
       {"GNU GENERAL PUBLIC LICENSE", "Version 3, 29 June 2007", "Preamble", "0. Definitions.",
        "END OF TERMS AND CONDITIONS",
        "The GNU General Public License is a free, copyleft license for software and other kinds of works.",
        "\"This License\" refers to version 3 of the GNU General Public License.",
        "Each licensee is addressed as \"you\".",
        "b) The work must carry prominent notices stating that it is released under this License and any conditions "
        "added under section 7.",
        "This requirement modifies the requirement in section 4 to \"keep intact all notices\".",
        "3. Protecting Users' Legal Rights From Anti-Circumvention Law."}) {
    EXPECT_TRUE(has(wanted)) << wanted;
  }
  EXPECT_NEAR(static_cast<double>(sentences.size()), 230, 40);
}

TEST(Paragraphs, AreLinesWhereNoLineIsBlank) {
  EXPECT_EQ(SplitText("1. Pay. Now.\n2. Wait.\n3. Go.").paragraphs.size(), 3u);
  EXPECT_EQ(SplitText("a\n\nb\nc").paragraphs.size(), 2u);
  const std::string first =
      "A paragraph on one line, which is far longer than any line that was ever wrapped by hand, since no "
      "terminal and no typewriter is so wide that a hundred and sixty columns are used.";
  EXPECT_EQ(SplitText(first + "\n" + first + "\n").paragraphs.size(), 2u);
}

TEST(SentenceAt, GivesLeadingSpaceToTheSentenceAfter) {
  const TextParts parts = SplitText("One. Two.\n");
  EXPECT_EQ(SentenceAt(parts.sentences, 0), 0u);
  EXPECT_EQ(SentenceAt(parts.sentences, 3), 0u);
  EXPECT_EQ(SentenceAt(parts.sentences, 4), 1u);
  EXPECT_EQ(SentenceAt(parts.sentences, 100), 1u);
}

TEST(LineMarkers, AreNumbersLettersAndBullets) {
  for (const char* line : {"1. a", "7.2 a", "7.2.1. a", "(a) a", "a) a", "iv) a", "(iv) a", "- a", "• a",
                           "ARTICLE 1. A", "Schedule B", "第三条 范围", "1、甲", "1."}) {
    EXPECT_GT(MarkerLength(line), 0u) << line;
  }
  for (const char* line :
       {"", "2031 was", "1.5% of", "(if any) on", "e.g. this", "a word", "-5 degrees", "Section heading", "第一"}) {
    EXPECT_EQ(MarkerLength(line), 0u) << line;
  }
  EXPECT_EQ(MarkerLength("ARTICLE 1. TERM"), 10u);
}

RC_GTEST_PROP(Sentences, CoverAllButWhiteSpace, ()) {
  const auto part = rc::gen::element<std::string>("a", "B", "word", " ", " ", "\n", "\n", "\r\n", ".", "!", "。", "\"",
                                                  ")", "1", "Mr", "e.g", "-", "\u3000", "\xff", "\xe4");
  std::string text;
  for (const std::string& piece : *rc::gen::container<std::vector<std::string>>(part)) text += piece;
  const TextParts parts = SplitText(text);
  size_t position = 0;
  const auto expect_space_until = [&](size_t end) {
    while (position < end) {
      const Utf8Step step = DecodeUtf8(text, position);
      RC_ASSERT(IsWhiteSpace(step.code_point));
      position += step.length;
    }
    RC_ASSERT(position == end);
  };
  for (const Sentence& sentence : parts.sentences) {
    expect_space_until(sentence.range.begin);
    RC_ASSERT(sentence.range.begin < sentence.range.end);
    const ByteRange paragraph = parts.paragraphs[sentence.paragraph];
    RC_ASSERT(paragraph.begin <= sentence.range.begin && sentence.range.end <= paragraph.end);
    position = sentence.range.end;
  }
  expect_space_until(text.size());
}

}  // namespace
}  // namespace attend
