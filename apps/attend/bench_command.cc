// attend bench: how fast this machine is, and what share of that the program reaches.
#include <fmt/format.h>

#include "attend/bench_attention.h"
#include "attend/bench_model.h"
#include "attend/bench_report.h"

namespace attend::cli {
namespace {

struct BenchOptions {
  BenchModelOptions model;
  bool peaks = false;
  bool from_stdin = false;
  CLI::App* attention = nullptr;
  BenchAttentionOptions attention_options;
};

Outcome RunPeaks(const BenchModelOptions& options) {
  ATTEND_ASSIGN_OR_RETURN(const Engine engine, MakeEngine(options.engine));
  ATTEND_ASSIGN_OR_RETURN(const Peaks peaks, MeasurePeaks(*engine.kernels, *engine.pool));
  if (options.output.json) {
    fmt::print("{}\n", BenchJson(engine, peaks, "peaks").dump(2));
  } else {
    PrintBenchHeader(engine, peaks);
  }
  return 0;
}

Outcome RunBench(const BenchOptions& options) {
  if (options.attention->parsed()) return RunBenchAttention(options.attention_options);
  if (options.peaks) return RunPeaks(options.model);
  return options.from_stdin ? ServeBenchModel(options.model) : RunBenchModel(options.model);
}

}  // namespace

void AddBench(Registry& registry) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = registry.Add("bench", "Measure speed: whole models, attention alone, and the machine's peaks",
                                   "  attend bench --tests pp512,pp7500,tg64,tg64@d7500\n"
                                   "  attend bench --peaks\n"
                                   "  attend bench attention --heads 32/8 --dim 128 --tokens 4096\n"
                                   "  attend bench attention --case \"heads=9/3 dim=64 q={1|64} kv=8192\" --kv q8\n"
                                   "  attend bench attention --bars");
  BenchModelOptions& model = options->model;
  AddEngineOptions(command, model.engine);
  AddOutputOptions(command, model.output);
  command->add_option("--tests", model.tests, "Tests: ppN reads N tokens, tgN generates N; @dN: after N others")
      ->capture_default_str();
  command->add_option("--rounds", model.rounds, "Rounds that count")->check(CLI::Range(1, 1000))->capture_default_str();
  command->add_option("--warm-ups", model.warm_ups, "Rounds before those")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command->add_flag("--peaks", options->peaks, "Measure the machine's peaks only");
  command->add_flag("--stdin", options->from_stdin, "Run the tests named on stdin, a line of JSON for each");

  options->attention =
      command->add_subcommand("attention", "Attention alone: prompts, single tokens, any case in words");
  AddBenchAttentionOptions(options->attention, options->attention_options);
  registry.OnRun(command, [options] { return RunBench(*options); });
}

}  // namespace attend::cli
