// docs/errors.md lists every code that the program can print, and only those.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "base/error.h"
#include "tests/doc_block.h"
#include "tests/source_tree.h"

namespace attend {
namespace {

TEST(ErrorPage, ListsEveryCode) {
  std::string table = "| code | exit | meaning |\n|---|---|---|\n";
  for (const ErrorCodeInfo& info : AllErrorCodes()) {
    table += fmt::format("| `{}` | {} | {} |\n", info.name, info.exit_status, info.meaning);
  }
  ExpectDocBlock("docs/errors.md", "codes", table);
}

TEST(ErrorPage, CodesAreStableWordsWithADocumentedExit) {
  const std::regex word("[a-z][a-z0-9]*(_[a-z0-9]+)*");
  const std::set<int> exits = {1, 2, 3, 4, 5, 6, 130};
  std::set<std::string> names;
  for (const ErrorCodeInfo& info : AllErrorCodes()) {
    const std::string name(info.name);
    EXPECT_TRUE(std::regex_match(name, word)) << name;
    EXPECT_TRUE(names.insert(name).second) << name << " stands twice";
    EXPECT_TRUE(exits.contains(info.exit_status)) << name;
    EXPECT_FALSE(info.meaning.empty()) << name;
    EXPECT_EQ(&InfoOf(info.code), &info) << name;
  }
}

// A code that nothing returns promises something that does not exist.
TEST(ErrorPage, EveryCodeIsUsed) {
  std::string product;
  for (const char* folder : {"src", "apps"}) {
    for (const std::string& file : CppFilesUnder(folder)) {
      if (!IsTestFile(file) && !file.ends_with(".inc")) product += ReadSourceFile(file);
    }
  }
  const std::string codes = ReadSourceFile("src/base/error_codes.inc");
  const std::regex row("ATTEND_ERROR\\((k[A-Za-z0-9]+), \"");
  for (std::sregex_iterator match(codes.begin(), codes.end(), row), end; match != end; ++match) {
    EXPECT_NE(product.find("ErrorCode::" + (*match)[1].str()), std::string::npos) << (*match)[1];
  }
}

}  // namespace
}  // namespace attend
