#include "document/load.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

Result<Document> FromBytes(std::string bytes, bool lossy = false) {
  return DocumentFromBytes(std::move(bytes), "d", {.lossy = lossy});
}

TEST(LoadDocument, TakesOffAByteOrderMark) {
  const auto document = FromBytes("\xef\xbb\xbfhello");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->text, "hello");
}

TEST(LoadDocument, NamesTheFirstIllFormedByteAndItsLine) {
  const auto document = FromBytes("a\nb\nc\xc0\xafz");
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().code, ErrorCode::kTextNotUtf8);
  EXPECT_NE(document.error().found.find("byte 5, line 3"), std::string::npos) << document.error().found;
}

TEST(LoadDocument, LossyReplacesAndCounts) {
  const auto document = FromBytes(
      "a\xff\xfe"
      "b\xe2\x82",
      true);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->text,
            "a\xef\xbf\xbd\xef\xbf\xbd"
            "b\xef\xbf\xbd");
  EXPECT_EQ(document->num_replaced, 3u);
}

TEST(LoadDocument, RefusesOtherKindsByName) {
  const std::pair<std::string, ErrorCode> cases[] = {{"%PDF-1.4", ErrorCode::kTextUnsupportedFormat},
                                                     {"PK\x03\x04zip", ErrorCode::kTextUnsupportedFormat},
                                                     {"{\\rtf1", ErrorCode::kTextUnsupportedFormat},
                                                     {"\xfe\xff\x00\x41", ErrorCode::kTextUnsupportedFormat},
                                                     {"GGUFxxxx", ErrorCode::kTextUnsupportedFormat},
                                                     {std::string("x\0y", 3), ErrorCode::kTextBinary},
                                                     {"  \n ", ErrorCode::kFileEmpty}};
  for (const auto& [bytes, code] : cases) {
    const auto document = FromBytes(bytes, true);
    ASSERT_FALSE(document) << bytes;
    EXPECT_EQ(document.error().code, code) << bytes;
  }
}

}  // namespace
}  // namespace attend
