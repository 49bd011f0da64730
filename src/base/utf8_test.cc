#include "base/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace attend {
namespace {

struct Replacement {
  std::string text, python;  // python: text.decode("utf-8", "replace")
};

// The formatter would put every byte on a line of its own.
// clang-format off
const Replacement kReplacements[] = {
    {"", ""},
    {"abc", "abc"},
    {"\xc3" "\xa9", "\xc3" "\xa9"},
    {"\xe2" "\x82" "\xac", "\xe2" "\x82" "\xac"},
    {"\xf0" "\x9f" "\x98" "\x80", "\xf0" "\x9f" "\x98" "\x80"},
    {"\xc0" "\x80", "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd"},
    {"\xc1" "\xbf", "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd"},
    {"\xe0" "\x80" "\xaf", "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd"},
    {"\xe0" "\x9f" "\xbf", "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd"},
    {"\xed" "\xa0" "\x80", "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd"},
    {"\xed" "\xbf" "\xbf", "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd"},
    {"\xf0" "\x80" "\x80" "\xaf", "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd"},
    {"\xf0" "\x8f" "\xbf" "\xbf", "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd"},
    {"\xf4" "\x90" "\x80" "\x80", "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd"},
    {"\xf5" "\x80" "\x80" "\x80", "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd"},
    {"\xff" "\xfe", "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd"},
    {"\x80", "\xef" "\xbf" "\xbd"},
    {"\xbf" "A", "\xef" "\xbf" "\xbd" "A"},
    {"\xc3", "\xef" "\xbf" "\xbd"},
    {"\xc3" "(", "\xef" "\xbf" "\xbd" "("},
    {"\xe2" "\x82", "\xef" "\xbf" "\xbd"},
    {"\xe2" "\x82" "A", "\xef" "\xbf" "\xbd" "A"},
    {"\xe2" "(\xa1", "\xef" "\xbf" "\xbd" "(\xef" "\xbf" "\xbd"},
    {"\xf0" "\x9f" "\x98", "\xef" "\xbf" "\xbd"},
    {"\xf0" "\x9f" "\x98" "A", "\xef" "\xbf" "\xbd" "A"},
    {"\xf0" "\x9f", "\xef" "\xbf" "\xbd"},
    {"\xf0", "\xef" "\xbf" "\xbd"},
    {"\xf0" "\x9f" "\xf0" "\x9f" "\x98" "\x80", "\xef" "\xbf" "\xbd" "\xf0" "\x9f" "\x98" "\x80"},
    {"a\xe2" "\x82" "\xc3" "\xa9" "b", "a\xef" "\xbf" "\xbd" "\xc3" "\xa9" "b"},
    {"\xf4" "\x8f" "\xbf" "\xbf", "\xf4" "\x8f" "\xbf" "\xbf"},
    {"\xee" "\x80" "\x80", "\xee" "\x80" "\x80"},
    {"\xef" "\xbf" "\xbd", "\xef" "\xbf" "\xbd"},
    {"\xed" "\x9f" "\xbf", "\xed" "\x9f" "\xbf"},
    {"\xf8" "\x88" "\x80" "\x80" "\x80", "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd"},
    {"\xe1" "\x80" "\xe2" "\xf0" "\x91" "\x92" "\xf1" "\xbf" "A", "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "\xef" "\xbf" "\xbd" "A"},
};
// clang-format on

size_t CountReplaced(std::string_view text) {
  size_t count = 0;
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = DecodeUtf8(text, i);
    count += !step.valid;
    i += step.length;
  }
  return count;
}

TEST(Utf8Test, ReplacesAsPythonDoes) {
  for (const Replacement& r : kReplacements) {
    std::string out = "x";
    EXPECT_EQ(ReplaceInvalidUtf8(r.text, out), CountReplaced(r.text));
    EXPECT_EQ(out, "x" + r.python) << testing::PrintToString(r.text);
    EXPECT_EQ(FindInvalidUtf8(r.text).has_value(), r.text != r.python);
  }
}

TEST(Utf8Test, EveryCodePointRoundTripsAndNothingElseIsValid) {
  for (uint32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string text;
    AppendUtf8(c, text);
    const Utf8Step step = DecodeUtf8(text, 0);
    ASSERT_TRUE(step.valid && step.code_point == c && step.length == text.size()) << c;
    ASSERT_EQ(text.size(), c < 0x80 ? 1u : c < 0x800 ? 2u : c < 0x10000 ? 3u : 4u);
  }
}

// Of all four-byte strings that begin with a given lead and second byte, only those of table 3-7 are valid.
TEST(Utf8Test, OverlongFormsSurrogatesAndBeyondTheLastAreInvalid) {
  for (int first = 0x80; first < 0x100; ++first) {
    for (int second = 0; second < 0x100; ++second) {
      const std::string text = {static_cast<char>(first), static_cast<char>(second), '\x80', '\x80'};
      const bool continuation = second >= 0x80 && second <= 0xbf;
      const bool valid = continuation && first >= 0xc2 && first <= 0xf4 && !(first == 0xe0 && second < 0xa0) &&
                         !(first == 0xed && second > 0x9f) && !(first == 0xf0 && second < 0x90) &&
                         !(first == 0xf4 && second > 0x8f);
      ASSERT_EQ(DecodeUtf8(text, 0).valid, valid) << first << " " << second;
    }
  }
}

TEST(Utf8Test, FindInvalidGivesTheFirstByte) {
  EXPECT_EQ(FindInvalidUtf8("abc"), std::nullopt);
  EXPECT_EQ(FindInvalidUtf8("\xc3\xa9 \xff"), 3u);
  EXPECT_EQ(FindInvalidUtf8("ab\xe2\x82"), 2u);
}

// Any bytes: the steps cover the text, the replaced text is valid, valid text is unchanged, and replacing twice is
// replacing once.
RC_GTEST_PROP(Utf8Test, AnyBytesBecomeValidText, (const std::string& text)) {
  std::string once, twice;
  const size_t replaced = ReplaceInvalidUtf8(text, once);
  RC_ASSERT(!FindInvalidUtf8(once).has_value());
  RC_ASSERT(ReplaceInvalidUtf8(once, twice) == 0u);
  RC_ASSERT(once == twice);
  RC_ASSERT((replaced == 0) == (once == text));
}

}  // namespace
}  // namespace attend
