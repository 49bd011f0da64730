// The files of the repository, for tests that look at all of them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace attend {

// C++ files under `folder`, relative to the repository ("src/base/error.h"), sorted; none when it does not exist.
inline std::vector<std::string> CppFilesUnder(const std::string& folder) {
  const std::filesystem::path root(ATTEND_SOURCE_DIR);
  std::vector<std::string> files;
  if (!std::filesystem::exists(root / folder)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".h" || extension == ".cc" || extension == ".inc") {
      files.push_back(std::filesystem::relative(entry.path(), root).string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// mask_test.cc, gguf_test_builder.h, test_tables.h: what only tests use may include anything.
inline bool IsTestFile(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name.starts_with("test_") || name.find("_test.") != std::string::npos ||
         name.find("_test_") != std::string::npos;
}

}  // namespace attend
