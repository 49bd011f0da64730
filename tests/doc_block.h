// Parts of the docs that follow from something else stand between <!-- begin NAME --> and <!-- end NAME -->. A test
// compares them with what they follow from; with ATTEND_UPDATE_DOCS set it rewrites them instead (tools/check --fix).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace attend {

inline std::string ReadSourceFile(const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(ATTEND_SOURCE_DIR) / name;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void ExpectDocBlock(const std::string& file, const std::string& name, const std::string& wanted) {
  const std::string begin = "<!-- begin " + name + " -->\n", end = "<!-- end " + name + " -->";
  std::string text = ReadSourceFile(file);
  const size_t first = text.find(begin), last = text.find(end);
  ASSERT_TRUE(first != std::string::npos && last != std::string::npos && first < last)
      << file << " has no block " << name;
  const size_t start = first + begin.size();
  const char* update = std::getenv("ATTEND_UPDATE_DOCS");
  if (update != nullptr && *update != '\0') {
    text.replace(start, last - start, wanted);
    std::ofstream(std::filesystem::path(ATTEND_SOURCE_DIR) / file, std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(text.substr(start, last - start), wanted) << file << ", block " << name << ": run tools/check --fix";
}

}  // namespace attend
