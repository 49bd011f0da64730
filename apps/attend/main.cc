// attend: reads long documents with a transformer on the machine you have.
#include <fmt/format.h>

#include <csignal>

#include "attend/command.h"
#include "attend/version.h"

namespace {

int Fail(const attend::Error& error) {
  fmt::print(stderr, "attend: {}\n", attend::Describe(error));
  return attend::InfoOf(error.code).exit_status;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);
  CLI::App app{
      "Reads long documents with a transformer on this machine: plans first, reads in one pass where it fits, shows "
      "where it looked."};
  app.name("attend");
  app.set_version_flag("--version", std::string("attend ") + attend::cli::kVersion);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n  attend plan contract.txt\n  attend read contract.txt --ask \"When are invoices due?\"\n"
      "Each command explains itself: attend read --help");

  attend::cli::Registry registry(app);
  attend::cli::AddPlan(registry);
  attend::cli::AddRead(registry);
  attend::cli::AddScore(registry);
  attend::cli::AddTokens(registry);
  attend::cli::AddModels(registry);
  attend::cli::AddDevices(registry);
  attend::cli::AddBench(registry);
  attend::cli::AddInfo(registry);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  attend::cli::CatchInterrupt();
  const attend::cli::Outcome outcome = registry.Run();
  return outcome ? *outcome : Fail(outcome.error());
}
