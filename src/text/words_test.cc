#include "text/words.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"

namespace attend {
namespace {

using Words = std::vector<std::string>;

TEST(Words, FoldsCaseAndSplitsAtPunctuation) {
  EXPECT_EQ(SplitWords("The Client's cold-storage: FEES!"), (Words{"the", "client", "s", "cold", "storage", "fees"}));
  EXPECT_EQ(SplitWords("Straße ÉTÉ ΣΑΣ"), (Words{"strasse", "été", "σασ"}));
  EXPECT_EQ(SplitWords("e\u0301t"), (Words{"e\u0301t"}));
  EXPECT_EQ(SplitWords("ＡＢ１"), (Words{"ab1"}));
  EXPECT_EQ(SplitWords(" .,"), Words{});
  EXPECT_EQ(SplitWords("a\xff"
                       "b\xe4\xbb"),
            (Words{"a", "b"}));
}

TEST(Words, KeepsNumbersWhole) {
  EXPECT_EQ(SplitWords("18,400 at 1.5% under 7.2."), (Words{"18400", "at", "1.5", "under", "7.2"}));
  EXPECT_EQ(SplitWords("1,2 and 3,45 in 2031."), (Words{"1", "2", "and", "3", "45", "in", "2031"}));
}

TEST(Words, GivesIdeographsAloneAndInPairs) {
  EXPECT_EQ(SplitWords("合同期12个月"), (Words{"合", "合同", "同", "同期", "期", "12", "个", "个月", "月"}));
  EXPECT_EQ(SplitWords("甲，乙"), (Words{"甲", "乙"}));
}

TEST(Words, StemsFormsOfAWordAlike) {
  const std::vector<Words> same = {{"terminate", "terminates", "terminated", "terminating"},
                                   {"party", "parties"},
                                   {"control", "controls", "controlled", "controlling"},
                                   {"stop", "stops", "stopped", "stopping"},
                                   {"match", "matches", "matched"},
                                   {"fee", "fees"},
                                   {"agree", "agrees", "agreed", "agreeing"},
                                   {"exceed", "exceeds", "exceeded"},
                                   {"address", "addresses", "addressed"},
                                   {"price", "prices", "priced", "pricing"},
                                   {"call", "calls", "called"},
                                   {"supply", "supplies", "supplied", "supplying"},
                                   {"notice", "notices"},
                                   {"box", "boxes"}};
  for (const Words& forms : same) {
    for (const std::string& form : forms) EXPECT_EQ(Stem(form), Stem(forms[0])) << form;
  }
}

TEST(Words, LeavesOtherWordsAlone) {
  for (const char* word : {"king", "string", "red", "need", "bus", "analysis", "loss", "été", "18400", "thing", "is"}) {
    EXPECT_EQ(Stem(word), word);
  }
}

TEST(Words, SearchTermsDropStopWords) {
  EXPECT_EQ(SearchTerms("What is the late fee of the Client?"), (Words{"lat", "fee", "client"}));
  EXPECT_TRUE(IsStopWord("the"));
  EXPECT_TRUE(IsStopWord("your"));
  EXPECT_FALSE(IsStopWord("fee"));
  EXPECT_FALSE(IsStopWord(""));
}

RC_GTEST_PROP(Words, AreValidAndNeverEmpty, (const std::string& text)) {
  for (const std::string& word : SplitWords(text)) {
    RC_ASSERT(!word.empty());
    RC_ASSERT(!FindInvalidUtf8(word));
  }
}

}  // namespace
}  // namespace attend
