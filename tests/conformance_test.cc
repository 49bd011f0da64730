// docs/conformance.md: every row is there, and every test that it names exists in the sources.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "tests/doc_block.h"
#include "tests/source_tree.h"

namespace attend {
namespace {

std::map<std::string, std::string> ReadRows() {
  std::map<std::string, std::string> rows;
  std::istringstream lines(ReadSourceFile("docs/conformance.md"));
  const std::regex row("^\\| ([A-Z][0-9]+) \\| [^|]+ \\| ([^|]+) \\|$");
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    EXPECT_TRUE(rows.emplace(match[1], match[2]).second) << match[1] << " stands twice";
  }
  return rows;
}

// "Suite.Name" of every test, also of those with a parameter or a property.
std::set<std::string> TestsInTheSources() {
  std::set<std::string> tests;
  const std::regex test("(?:^|\\n)(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\\(\\s*(\\w+),\\s*(\\w+)");
  for (const char* folder : {"src", "tests"}) {
    for (const std::string& file : CppFilesUnder(folder)) {
      if (!IsTestFile(file)) continue;
      const std::string text = ReadSourceFile(file);
      for (std::sregex_iterator match(text.begin(), text.end(), test), end; match != end; ++match) {
        tests.insert((*match)[1].str() + "." + (*match)[2].str());
      }
    }
  }
  return tests;
}

TEST(Conformance, EveryRowIsThere) {
  const std::pair<char, int> groups[] = {{'G', 33}, {'S', 8},  {'N', 5},  {'T', 8},  {'J', 8},  {'D', 5}, {'H', 38},
                                         {'K', 17}, {'P', 28}, {'C', 12}, {'U', 13}, {'W', 10}, {'B', 6}, {'X', 12}};
  const auto rows = ReadRows();
  size_t wanted = 0;
  for (const auto& [letter, count] : groups) {
    for (int i = 1; i <= count; ++i) EXPECT_TRUE(rows.contains(fmt::format("{}{}", letter, i))) << letter << i;
    wanted += static_cast<size_t>(count);
  }
  EXPECT_EQ(rows.size(), wanted);
}

TEST(Conformance, EveryRowNamesTestsThatExistOrWhatIsMissing) {
  const auto tests = TestsInTheSources();
  ASSERT_GT(tests.size(), 100u);
  const std::regex name("`(\\w+\\.\\w+)`");
  for (const auto& [row, text] : ReadRows()) {
    size_t named = 0;
    for (std::sregex_iterator match(text.begin(), text.end(), name), end; match != end; ++match, ++named) {
      EXPECT_TRUE(tests.contains((*match)[1])) << row << " names " << (*match)[1] << ", which does not exist";
    }
    EXPECT_TRUE(named > 0 || text.starts_with("with ") || text.starts_with("the fuzz step")) << row << ": " << text;
  }
}

}  // namespace
}  // namespace attend
