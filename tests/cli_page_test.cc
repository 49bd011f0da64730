// docs/reference/cli.md shows the help of every command as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "tests/cli_util.h"
#include "tests/doc_block.h"

namespace attend {
namespace {

std::string HelpOf(std::vector<std::string> command) {
  const CliFolder home;
  command.push_back("--help");
  const CliResult result = home.Run(command);
  EXPECT_EQ(result.status, 0) << result.err;
  return result.out;
}

// The names below "Subcommands:".
std::vector<std::string> SubcommandsIn(const std::string& help) {
  std::vector<std::string> names;
  const size_t begin = help.find("Subcommands:\n");
  if (begin == std::string::npos) return names;
  std::istringstream lines(help.substr(begin));
  const std::regex row("^  ([a-z]+) .*$");
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && !line.empty()) {
    std::smatch match;
    if (std::regex_match(line, match, row)) names.push_back(match[1]);
  }
  return names;
}

TEST(CliPage, ShowsTheHelpOfEveryCommand) {
  const std::vector<std::string> commands = SubcommandsIn(HelpOf({}));
  EXPECT_THAT(commands, ::testing::IsSupersetOf({"plan", "read", "score", "tokens", "models", "bench", "info"}));
  for (const std::string& command : commands) {
    const std::string help = HelpOf({command});
    ExpectDocBlock("docs/reference/cli.md", "help " + command, "```text\n" + help + "```\n");
    for (const std::string& below : SubcommandsIn(help)) {
      const std::string block = "```text\n" + HelpOf({command, below}) + "```\n";
      ExpectDocBlock("docs/reference/cli.md", "help " + command + " " + below, block);
    }
  }
}

TEST(CliPage, WrongUseIsExit2AndNothingOnStdout) {
  const CliFolder home;
  const std::vector<std::string> uses[] = {
      {}, {"nonsense"}, {"info", "--nonsense"}, {"read"}, {"info", "--compute", "f8"}, {"info", "--isa", "sse9"}};
  for (const auto& use : uses) {
    const CliResult result = home.Run(use);
    EXPECT_EQ(result.status, 2) << (use.empty() ? "" : use.back());
    EXPECT_EQ(result.out, "") << (use.empty() ? "" : use.back());
    EXPECT_NE(result.err, "");
  }
}

}  // namespace
}  // namespace attend
