// The object of an instruction set may define its table and nothing else that a linker could merge: an inline function
// that two objects share would be taken from one of them, and a baseline processor would run AVX-512 code.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ATTEND_INSTRUMENTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define ATTEND_INSTRUMENTED 1
#endif
#endif

namespace {

std::string Output(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[4096];
  while (size_t count = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, count);
  pclose(pipe);
  return text;
}

struct Symbol {
  std::string member;
  char kind;
  std::string name;
};

// The external symbols that the archive's members define: lines "member.o:", then "name T address size".
std::vector<Symbol> DefinedSymbols(const std::string& archive) {
  std::istringstream lines(Output("nm -P --defined-only --extern-only '" + archive + "' 2>/dev/null"));
  std::vector<Symbol> symbols;
  std::string member;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(":")) {
      member = line.substr(line.find('[') + 1);
      member = member.substr(0, member.find(']'));
      continue;
    }
    std::istringstream fields(line);
    Symbol symbol{member, '?', {}};
    if (fields >> symbol.name >> symbol.kind) symbols.push_back(symbol);
  }
  return symbols;
}

void ExpectOnlyTables(const std::string& archive, const std::set<std::string>& isa_members) {
#if defined(ATTEND_INSTRUMENTED)
  GTEST_SKIP() << "sanitizers add symbols of their own";
#endif
  if (Output("nm --version 2>/dev/null").empty()) GTEST_SKIP() << "nm is not here";
  const std::vector<Symbol> symbols = DefinedSymbols(archive);
  std::set<std::string> found;
  for (const Symbol& symbol : symbols) {
    if (!isa_members.contains(symbol.member)) continue;
    EXPECT_TRUE(symbol.name.ends_with("KernelsE") && symbol.name.starts_with("_ZN6attend"))
        << symbol.member << " defines " << symbol.name;
    EXPECT_NE(std::string("RDB").find(symbol.kind), std::string::npos)
        << symbol.member << ": " << symbol.name << " is " << symbol.kind;
    found.insert(symbol.member);
  }
  EXPECT_EQ(found, isa_members) << archive;
}

TEST(SymbolsTest, IsaObjectsDefineTheirTableAndNothingElse) {
#if defined(__x86_64__)
  ExpectOnlyTables(ATTEND_BINARY_DIR "/libattend_kernels.a",
                   {"scalar.cc.o", "avx2.cc.o", "avx512.cc.o", "avx512_vnni.cc.o", "avx512_bf16.cc.o"});
#else
  ExpectOnlyTables(ATTEND_BINARY_DIR "/libattend_kernels.a", {"scalar.cc.o"});
#endif
}

// The test itself can fail: other objects of the archive do define functions.
TEST(SymbolsTest, NmSeesTheFunctionsOfOtherObjects) {
  if (Output("nm --version 2>/dev/null").empty()) GTEST_SKIP() << "nm is not here";
  bool seen = false;
  for (const Symbol& symbol : DefinedSymbols(ATTEND_BINARY_DIR "/libattend_kernels.a")) {
    seen |= symbol.member == "dispatch.cc.o" && symbol.kind == 'T';
  }
  EXPECT_TRUE(seen);
}

}  // namespace
