#include "base/error.h"

#include <gtest/gtest.h>

#include <set>

namespace attend {
namespace {

TEST(ErrorTest, EveryCodeHasItsOwnNameAndAnExitStatusInUse) {
  std::set<std::string_view> names;
  size_t position = 0;
  for (const ErrorCodeInfo& info : AllErrorCodes()) {
    EXPECT_EQ(static_cast<size_t>(info.code), position++);
    EXPECT_EQ(&InfoOf(info.code), &info);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(info.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string_view::npos)
        << info.name;
    EXPECT_FALSE(info.meaning.empty());
    EXPECT_TRUE(std::set<int>({2, 3, 4, 5, 130}).contains(info.exit_status)) << info.name;
  }
  EXPECT_GT(position, 30u);
}

TEST(ErrorTest, DescribeSaysWhereExpectedFoundCodeAndHint) {
  const Error error{.code = ErrorCode::kGgufTruncated,
                    .where = "model.gguf",
                    .subject = "tensor 'x'",
                    .expected = "20 bytes",
                    .found = "4",
                    .hint = "download it again",
                    .byte_offset = 24};
  EXPECT_EQ(Describe(error),
            "model.gguf: tensor 'x' at byte 24: expected 20 bytes, found 4 [gguf_truncated]; download it again");
  const Error bare{
      .code = ErrorCode::kUsage, .where = "attend", .subject = {}, .expected = {}, .found = "nothing", .hint = {}};
  EXPECT_EQ(Describe(bare), "attend: found nothing [usage]");
}

// A file's names cannot send commands to a terminal, forge a second line or turn text around.
TEST(ErrorTest, DescribeEscapesWhatATerminalWouldObey) {
  const std::string evil =
      "a\x1b[2J\n\r\t\x07\x7f\xc2\x9b"
      "31m\xe2\x80\xae\xe2\x81\xa6\xff\xc3\xa9";
  const std::string safe = "a\\x1b[2J\\x0a\\x0d\\x09\\x07\\x7f\\xc2\\x9b31m\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xff\xc3\xa9";
  EXPECT_EQ(EscapeForTerminal(evil), safe);
  const Error error{
      .code = ErrorCode::kUsage, .where = evil, .subject = evil, .expected = evil, .found = evil, .hint = evil};
  EXPECT_EQ(Describe(error), safe + ": " + safe + ": expected " + safe + ", found " + safe + " [usage]; " + safe);
}

TEST(ErrorTest, EscapedTextHasNoControlCharacterForAnyByte) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (char c : EscapeForTerminal(all)) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  EXPECT_EQ(EscapeForTerminal(std::string_view("\0", 1)), "\\x00");
}

Result<int> Half(int x) {
  if (x % 2 != 0)
    return tl::unexpected(Error{
        .code = ErrorCode::kBadArgument, .where = "half", .subject = {}, .expected = {}, .found = {}, .hint = {}});
  return x / 2;
}
Result<int> Quarter(int x) {
  ATTEND_RETURN_IF_ERROR(Half(x));
  ATTEND_ASSIGN_OR_RETURN(const int half, Half(x));
  ATTEND_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

TEST(ErrorTest, MacrosPassErrorsOn) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(6).error().where, "half");
  EXPECT_EQ(Quarter(5).error().where, "half");
}

}  // namespace
}  // namespace attend
