// Every page and file that the docs link to, and every page that a comment in the sources names, exists.
#include <gtest/gtest.h>

#include <regex>

#include "tests/doc_block.h"
#include "tests/source_tree.h"

namespace attend {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot(ATTEND_SOURCE_DIR);

std::vector<fs::path> Pages() {
  std::vector<fs::path> pages;
  const auto add = [&](const fs::path& path) {
    if (path.extension() == ".md") pages.push_back(path);
  };
  for (const auto& entry : fs::directory_iterator(kRoot)) add(entry.path());
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs")) add(entry.path());
  return pages;
}

TEST(Links, LeadSomewhere) {
  const std::regex link("\\]\\(([^)#]+)[^)]*\\)");
  size_t num_links = 0;
  for (const fs::path& page : Pages()) {
    const std::string text = ReadSourceFile(fs::relative(page, kRoot).string());
    for (std::sregex_iterator match(text.begin(), text.end(), link), end; match != end; ++match) {
      const std::string target = (*match)[1];
      if (target.starts_with("https://")) continue;
      EXPECT_TRUE(fs::exists(page.parent_path() / target)) << page << " links to " << target;
      ++num_links;
    }
  }
  EXPECT_GT(num_links, 10u);
}

TEST(Links, PagesThatCommentsNameExist) {
  const std::regex name("\\bdocs/[a-z0-9_/-]+\\.md\\b");
  for (const char* folder : {"src", "apps", "include", "fuzz", "examples"}) {
    for (const std::string& file : CppFilesUnder(folder)) {
      const std::string text = ReadSourceFile(file);
      for (std::sregex_iterator match(text.begin(), text.end(), name), end; match != end; ++match) {
        EXPECT_TRUE(fs::exists(kRoot / match->str())) << file << " names " << match->str();
      }
    }
  }
}

}  // namespace
}  // namespace attend
