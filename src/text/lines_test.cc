#include "text/lines.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace attend {
namespace {

TEST(LineIndex, NumbersLinesFromOne) {
  const std::string_view text = "one\ntwo\r\n\nfour";
  const LineIndex index(text);
  EXPECT_EQ(index.num_lines(), 4u);
  EXPECT_EQ(TextOf(text, index.RangeOf(1)), "one");
  EXPECT_EQ(TextOf(text, index.RangeOf(2)), "two");
  EXPECT_EQ(TextOf(text, index.RangeOf(3)), "");
  EXPECT_EQ(TextOf(text, index.RangeOf(4)), "four");
  EXPECT_EQ(index.LineOf(0), 1u);
  EXPECT_EQ(index.LineOf(3), 1u);  // the newline itself
  EXPECT_EQ(index.LineOf(4), 2u);
  EXPECT_EQ(index.LineOf(8), 2u);
  EXPECT_EQ(index.LineOf(9), 3u);
  EXPECT_EQ(index.LineOf(13), 4u);
}

TEST(LineIndex, TakesTheNearestLineOutsideTheText) {
  const LineIndex index("a\nb\n");
  EXPECT_EQ(index.num_lines(), 2u);
  EXPECT_EQ(index.LineOf(1000), 2u);
  EXPECT_EQ(index.RangeOf(0), index.RangeOf(1));
  EXPECT_EQ(index.RangeOf(9), index.RangeOf(2));
}

TEST(LineIndex, EmptyTextIsOneEmptyLine) {
  const LineIndex index("");
  EXPECT_EQ(index.num_lines(), 1u);
  EXPECT_EQ(index.LineOf(0), 1u);
  EXPECT_EQ(index.RangeOf(1), (ByteRange{0, 0}));
}

RC_GTEST_PROP(LineIndex, NumbersAreOneMoreThanTheNewlinesBefore, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::element('a', '\n', '\r'));
  const LineIndex index(text);
  for (size_t offset = 0; offset < text.size(); ++offset) {
    const auto newlines = std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(offset), '\n');
    RC_ASSERT(index.LineOf(offset) == static_cast<size_t>(newlines) + 1);
    const ByteRange line = index.RangeOf(index.LineOf(offset));
    RC_ASSERT(line.begin <= offset && TextOf(text, line).find('\n') == std::string_view::npos);
    RC_ASSERT(offset < line.end || text[offset] == '\n' || text[offset] == '\r');
  }
}

TEST(Trimmed, DropsUnicodeWhiteSpaceAtBothEnds) {
  const std::string_view text = "\u3000 \u00a0a b\u2003\r\n";
  EXPECT_EQ(TextOf(text, Trimmed(text, {0, text.size()})), "a b");
  EXPECT_EQ(Trimmed(" \n ", {0, 3}).size(), 0u);
  EXPECT_EQ(TextOf("a\x80 ", Trimmed("a\x80 ", {0, 3})), "a\x80");
}

}  // namespace
}  // namespace attend
