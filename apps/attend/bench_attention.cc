#include "attend/bench_attention.h"

#include <fmt/format.h>

#include <iostream>

#include "attend/bench_report.h"
#include "measure/attention_bench.h"

namespace attend::cli {
namespace {

// One case: its work against what the machine can do, whichever bounds it.
struct Row {
  std::string text;
  double flops = 0, kv_bytes = 0;
  uint64_t workspace_bytes = 0;
  std::vector<double> seconds;  // one a round
  double compute_bound_s = 0, memory_bound_s = 0;

  bool memory_bound() const { return memory_bound_s > compute_bound_s; }
  double bound_s() const { return std::max(compute_bound_s, memory_bound_s); }
};

// Without --case: the prompt and one token of the shape that the flags name.
std::vector<std::string> CaseLines(const BenchAttentionOptions& o) {
  if (!o.cases.empty()) return o.cases;
  const std::string shape = fmt::format("heads={} dim={} ", o.heads, o.head_dim);
  return {fmt::format("{}q={}", shape, o.tokens), fmt::format("{}q=1 kv={}", shape, o.tokens)};
}

Result<std::vector<AttentionBench>> MakeBenches(const BenchAttentionOptions& options, const Engine& engine) {
  std::vector<AttentionBench> benches;
  for (const std::string& line : CaseLines(options)) {
    ATTEND_ASSIGN_OR_RETURN(const auto cases, ParseAttentionCases(line, {engine.compute, engine.kv_format}));
    for (const AttentionCase& c : cases) {
      ATTEND_ASSIGN_OR_RETURN(AttentionBench bench, AttentionBench::Make(c, *engine.kernels, *engine.pool));
      benches.push_back(std::move(bench));
    }
  }
  return benches;
}

Row RowOf(const AttentionBench& bench, const Peaks& peaks) {
  Row row;
  row.text = bench.attention_case().text;
  row.flops = bench.Flops();
  row.kv_bytes = bench.KvBytes();
  const Compute compute = bench.attention_case().compute;
  // The peak of sums of whole numbers is not measured: class int8 has the read speed as its bound alone.
  row.compute_bound_s = compute == Compute::kInt8 ? 0 : row.flops / peaks.FlopsPerSecond(compute);
  row.memory_bound_s = bench.num_layers() > 1 ? row.kv_bytes / peaks.read_bytes_per_s : 0;
  return row;
}

Result<std::vector<Row>> RunRounds(const BenchAttentionOptions& options, std::vector<AttentionBench>& benches,
                                   const Peaks& peaks) {
  std::vector<Row> rows;
  for (const AttentionBench& bench : benches) rows.push_back(RowOf(bench, peaks));
  const int rounds = options.warm_ups + options.rounds;
  Progress progress("bench", "rounds", rounds, !options.output.no_progress && !options.output.quiet);
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < rows.size(); ++i) {
      ATTEND_ASSIGN_OR_RETURN(const double seconds, benches[i].Run());
      if (round >= options.warm_ups) rows[i].seconds.push_back(seconds);
    }
    progress.Update(round + 1);
  }
  for (size_t i = 0; i < rows.size(); ++i) rows[i].workspace_bytes = benches[i].workspace_bytes();
  return rows;
}

void PrintTable(const BenchAttentionOptions& options, const Engine& engine, const Peaks& peaks,
                const std::vector<Row>& rows) {
  if (!options.output.quiet) {
    PrintBenchHeader(engine, peaks);
    fmt::print("rounds   {}, after {} that do not count\n\n", options.rounds, options.warm_ups);
  }
  fmt::print("{}\n", Bold(fmt::format("{:>12}{:>9}{:>17}{:>14}{:>12}  {}", "ms", "spread", "rate", "of peak",
                                      "workspace", "attention")));
  for (const Row& row : rows) {
    const Summary s = Summarise(row.seconds);
    const std::string rate = row.memory_bound() ? fmt::format("{:.1f} GB/s", row.kv_bytes / s.median / 1e9)
                                                : fmt::format("{:.1f} GFLOP/s", row.flops / s.median / 1e9);
    fmt::print("{:>12.3f}{:>9}{:>17}{:>14}{:>12}  {}\n", 1e3 * s.median, Percent(s.spread), rate,
               row.bound_s() == 0 ? "-" : Percent(row.bound_s() / s.median) + (row.memory_bound() ? " read" : " flop"),
               FormatBytes(row.workspace_bytes), EscapeForTerminal(row.text));
  }
}

nlohmann::ordered_json JsonOf(const Row& row) {
  const Summary s = Summarise(row.seconds);
  return {{"case", row.text},
          {"seconds", s.median},
          {"spread", s.spread},
          {"flops", row.flops},
          {"kv_bytes", row.kv_bytes},
          {"bound", row.memory_bound() ? "read" : "flop"},
          {"share_of_peak", row.bound_s() / s.median},
          {"workspace_bytes", row.workspace_bytes}};
}

void PrintLine(const nlohmann::ordered_json& json) {
  fmt::print("{}\n", json.dump());
  std::fflush(stdout);
}

// One line of JSON about the machine, then one for each case line read.
Outcome ServeCases(const Engine& engine) {
  ATTEND_ASSIGN_OR_RETURN(const Peaks peaks, MeasurePeaks(*engine.kernels, *engine.pool));
  PrintLine(BenchJson(engine, peaks, "attention"));
  std::string current;
  std::optional<AttentionBench> bench;  // kept while the same line comes again
  for (std::string line; std::getline(std::cin, line);) {
    if (line != current) {
      bench.reset();
      current = line;
      const auto cases = ParseAttentionCases(line, {engine.compute, engine.kv_format});
      auto made =
          cases ? AttentionBench::Make((*cases)[0], *engine.kernels, *engine.pool) : tl::unexpected(cases.error());
      if (!made) {
        PrintLine({{"error", Describe(made.error())}});
        current.clear();
        continue;
      }
      bench.emplace(std::move(*made));
    }
    const auto seconds = bench->Run();
    if (!seconds) {
      PrintLine({{"error", Describe(seconds.error())}});
    } else {
      PrintLine({{"seconds", *seconds}, {"layers", bench->num_layers()}});
    }
  }
  return 0;
}

}  // namespace

void AddBenchAttentionOptions(CLI::App* command, BenchAttentionOptions& o) {
  AddEngineOptions(command, o.engine);
  AddOutputOptions(command, o.output);
  command->add_option("--heads", o.heads, "Query heads / key-value heads")->capture_default_str();
  command->add_option("--dim", o.head_dim, "Head dimension")->check(CLI::Range(1, 576))->capture_default_str();
  command->add_option("--tokens", o.tokens, "Tokens")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  command->add_option("--case", o.cases,
                      "A call in words, instead of the shape above: \"heads=32/8 dim=128 q=64 kv=8192 softcap=30\"");
  command->add_flag("--stdin", o.from_stdin, "Run the cases named on stdin, a line of JSON for each");
  command->add_flag("--bars", o.bars, "Measure every line that attention must reach; PASS or the shortfall");
  command->add_flag("--errors", o.errors, "Error of each cache format against double precision, per length");
  command->add_option("--rounds", o.rounds, "Rounds that count")->check(CLI::Range(1, 1000))->capture_default_str();
  command->add_option("--warm-ups", o.warm_ups, "Rounds before those")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
}

Outcome RunBenchAttention(const BenchAttentionOptions& options) {
  if (options.bars) return RunAttentionBars(options);
  if (options.errors) return RunAttentionErrors(options);
  ATTEND_ASSIGN_OR_RETURN(const Engine engine, MakeEngine(options.engine));
  if (options.from_stdin) return ServeCases(engine);
  ATTEND_ASSIGN_OR_RETURN(std::vector<AttentionBench> benches, MakeBenches(options, engine));
  ATTEND_ASSIGN_OR_RETURN(const Peaks peaks, MeasurePeaks(*engine.kernels, *engine.pool));
  ATTEND_ASSIGN_OR_RETURN(const std::vector<Row> rows, RunRounds(options, benches, peaks));
  if (!options.output.json) {
    PrintTable(options, engine, peaks, rows);
    return 0;
  }
  nlohmann::ordered_json json = BenchJson(engine, peaks, "attention");
  json["tests"] = nlohmann::ordered_json::array();
  for (const Row& row : rows) json["tests"].push_back(JsonOf(row));
  fmt::print("{}\n", json.dump(2));
  return 0;
}

}  // namespace attend::cli
