// Which module may include which, and where the libraries that stay in one place may be included. The table is
// tools/layers.txt.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "tests/doc_block.h"
#include "tests/source_tree.h"

namespace attend {
namespace {

struct Module {
  std::string level;
  std::string name;
  std::set<std::string> below;  // as the table says, without base and tensor
};

std::vector<Module> ReadTable() {
  std::vector<Module> modules;
  std::istringstream lines(ReadSourceFile("tools/layers.txt"));
  const std::regex row("^(L[0-9]) ([a-z]+):(.*)$");
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    std::istringstream names(match[3].str());
    Module module{match[1], match[2], {}};
    for (std::string name; names >> name;) module.below.insert(name);
    modules.push_back(std::move(module));
  }
  return modules;
}

std::map<std::string, Module> TableByName() {
  std::map<std::string, Module> modules;
  for (Module& module : ReadTable()) modules[module.name] = std::move(module);
  return modules;
}

// "src/model/load.h" -> "model"; everything under apps/ is "apps".
std::string ModuleOf(const std::string& file) {
  if (file.starts_with("apps/")) return "apps";
  const size_t begin = file.find('/') + 1;
  return file.substr(begin, file.find('/', begin) - begin);
}

struct Include {
  std::string target;
  bool quoted;
};

std::vector<Include> IncludesOf(const std::string& file) {
  std::vector<Include> includes;
  const std::regex directive("^[ \\t]*#[ \\t]*include[ \\t]*([\"<])([^\">]+)[\">].*$");
  std::istringstream lines(ReadSourceFile(file));
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, directive)) includes.push_back({match[2], match[1] == "\""});
  }
  return includes;
}

bool MayInclude(const Module& from, const std::string& to) {
  if (to == from.name || from.below.contains(to)) return true;
  if (to == "base") return from.name != "base";
  return to == "tensor" && from.name != "base";
}

std::vector<std::string> ProductFiles() {
  std::vector<std::string> files;
  for (const char* folder : {"src", "apps"}) {
    for (std::string& file : CppFilesUnder(folder)) {
      if (!IsTestFile(file)) files.push_back(std::move(file));
    }
  }
  return files;
}

TEST(Layers, ArrowsPointDown) {
  const auto modules = TableByName();
  for (const auto& [name, module] : modules) {
    for (const std::string& below : module.below) {
      ASSERT_TRUE(modules.contains(below)) << name << " names the unknown module " << below;
      EXPECT_LT(modules.at(below).level, module.level) << name << " -> " << below;
    }
  }
}

TEST(Layers, EveryFolderHasARow) {
  const auto modules = TableByName();
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(ATTEND_SOURCE_DIR) / "src")) {
    EXPECT_TRUE(modules.contains(entry.path().filename().string()))
        << entry.path() << " has no row in tools/layers.txt";
  }
}

TEST(Layers, EveryIncludeIsAnArrowOfTheTable) {
  const auto modules = TableByName();
  int64_t num_arrows = 0;
  for (const std::string& file : ProductFiles()) {
    const std::string from = ModuleOf(file);
    ASSERT_TRUE(modules.contains(from)) << file;
    for (const Include& include : IncludesOf(file)) {
      if (!include.quoted) continue;
      const size_t slash = include.target.find('/');
      ASSERT_NE(slash, std::string::npos) << file << " includes " << include.target << " without its module";
      std::string to = include.target.substr(0, slash);
      if (from == "apps" && std::filesystem::exists(std::filesystem::path(ATTEND_SOURCE_DIR) / "apps" / to))
        to = "apps";
      EXPECT_TRUE(MayInclude(modules.at(from), to))
          << file << " includes " << include.target << ": " << from << " may not use " << to;
      ++num_arrows;
    }
  }
  EXPECT_GT(num_arrows, 100);
}

// Libraries that stay in one place, by the beginning of their header's name.
TEST(Layers, LibrariesStayWhereTheyBelong) {
  const std::pair<const char*, std::set<std::string>> places[] = {{"nlohmann/", {"formats", "plan", "apps"}},
                                                                  {"CLI/", {"apps"}},
                                                                  {"mpi.h", {"dist"}},
                                                                  {"pcre2", {"text"}},
                                                                  {"utf8proc", {"text"}},
                                                                  {"immintrin.h", {"kernels", "base"}}};
  for (const std::string& file : ProductFiles()) {
    for (const Include& include : IncludesOf(file)) {
      for (const auto& [library, modules] : places) {
        if (!include.target.starts_with(library)) continue;
        EXPECT_TRUE(modules.contains(ModuleOf(file))) << file << " includes " << include.target;
      }
    }
  }
}

TEST(Layers, NothingIncludesATestFile) {
  for (const std::string& file : ProductFiles()) {
    for (const Include& include : IncludesOf(file)) {
      EXPECT_FALSE(include.quoted && IsTestFile(include.target)) << file << " includes " << include.target;
    }
  }
}

TEST(Layers, ArchitecturePageShowsTheTable) {
  std::string table = "| level | module | may include, beside itself |\n|---|---|---|\n";
  for (const Module& module : ReadTable()) {
    std::string below = module.name == "base" ? "" : module.name == "tensor" ? "base" : "base, tensor";
    for (const std::string& name : module.below) {
      if (name != "base" && name != "tensor") below += ", " + name;
    }
    table += fmt::format("| {} | `{}` | {} |\n", module.level, module.name, below.empty() ? "nothing" : below);
  }
  ExpectDocBlock("ARCHITECTURE.md", "layers", table);
}

TEST(FileSizes, NoFileIsLongAndTheMedianIsShort) {
  constexpr int64_t kMaxLines = 600, kMaxMedianLines = 150;
  std::vector<int64_t> counts;
  for (const char* folder : {"src", "apps", "include", "tests", "fuzz", "examples"}) {
    for (const std::string& file : CppFilesUnder(folder)) {
      const std::string text = ReadSourceFile(file);
      counts.push_back(std::count(text.begin(), text.end(), '\n'));
      EXPECT_LE(counts.back(), kMaxLines) << file;
    }
  }
  std::sort(counts.begin(), counts.end());
  ASSERT_FALSE(counts.empty());
  EXPECT_LE(counts[counts.size() / 2], kMaxMedianLines);
}

}  // namespace
}  // namespace attend
