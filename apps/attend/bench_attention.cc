#include "attend/bench_attention.h"

#include <fmt/format.h>

#include <charconv>

#include "attend/bench_report.h"
#include "measure/attention_bench.h"

namespace attend::cli {
namespace {

constexpr int64_t kMostHeads = 1024;

struct Timings {
  std::vector<double> prefill, decode;  // seconds, one a round
};

// "32/8": query heads / key-value heads.
Result<void> ParseHeads(const std::string& text, AttentionCase& shape) {
  const char* const end = text.data() + text.size();
  const auto q = std::from_chars(text.data(), end, shape.num_q_heads);
  if (q.ec == std::errc() && q.ptr != end && *q.ptr == '/') {
    const auto kv = std::from_chars(q.ptr + 1, end, shape.num_kv_heads);
    const bool in_range = shape.num_q_heads <= kMostHeads && shape.num_kv_heads <= kMostHeads;
    if (kv.ec == std::errc() && kv.ptr == end && in_range) return {};
  }
  return tl::unexpected(UsageError("--heads", "query heads / key-value heads such as 32/8", text));
}

Result<Timings> RunRounds(AttentionBench& bench, const BenchAttentionOptions& options) {
  const int rounds = options.warm_ups + options.rounds;
  Progress progress("bench", "rounds", rounds, !options.output.no_progress && !options.output.quiet);
  Timings timings;
  for (int round = 0; round < rounds; ++round) {
    ATTEND_ASSIGN_OR_RETURN(const double prefill, bench.Prefill());
    ATTEND_ASSIGN_OR_RETURN(const double decode, bench.Decode());
    progress.Update(round + 1);
    if (round < options.warm_ups) continue;
    timings.prefill.push_back(prefill);
    timings.decode.push_back(decode);
  }
  return timings;
}

// One row: the work of a run, its median time, and what of the machine's peak that is.
struct Row {
  const char* name;
  const char* unit;
  double work;  // FLOPs or bytes of a run
  double peak;  // of them a second
  Summary seconds;

  double Rate() const { return work / seconds.median; }
};

void PrintTable(const BenchAttentionOptions& options, const Engine& engine, const Peaks& peaks,
                std::span<const Row> rows) {
  if (!options.output.quiet) {
    PrintBenchHeader(engine, peaks);
    fmt::print("shape    heads {}, dimension {}, {} tokens, {} rounds\n\n", options.heads, options.head_dim,
               options.tokens, options.rounds);
  }
  PrintBenchRow({"attention", "ms", "spread", "rate", "of peak"}, true);
  for (const Row& row : rows) {
    PrintBenchRow({row.name, fmt::format("{:.3f}", 1e3 * row.seconds.median), Percent(row.seconds.spread),
                   fmt::format("{:.1f} {}", row.Rate() / 1e9, row.unit), Percent(row.Rate() / row.peak)});
  }
}

void PrintJson(const BenchAttentionOptions& options, const Engine& engine, const Peaks& peaks,
               std::span<const Row> rows) {
  nlohmann::ordered_json json = BenchJson(engine, peaks, "attention");
  json["heads"] = options.heads;
  json["head_dim"] = options.head_dim;
  json["tokens"] = options.tokens;
  json["tests"] = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    json["tests"].push_back({{"name", row.name},
                             {"seconds", row.seconds.median},
                             {"spread", row.seconds.spread},
                             {"rate_per_s", row.Rate()},
                             {"share_of_peak", row.Rate() / row.peak}});
  }
  fmt::print("{}\n", json.dump(2));
}

}  // namespace

void AddBenchAttentionOptions(CLI::App* command, BenchAttentionOptions& o) {
  AddEngineOptions(command, o.engine);
  AddOutputOptions(command, o.output);
  command->add_option("--heads", o.heads, "Query heads / key-value heads")->capture_default_str();
  command->add_option("--dim", o.head_dim, "Head dimension")->check(CLI::Range(1, 576))->capture_default_str();
  command->add_option("--tokens", o.tokens, "Tokens")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  command->add_option("--rounds", o.rounds, "Rounds that count")->check(CLI::Range(1, 1000))->capture_default_str();
  command->add_option("--warm-ups", o.warm_ups, "Rounds before those")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
}

Outcome RunBenchAttention(const BenchAttentionOptions& options) {
  ATTEND_ASSIGN_OR_RETURN(const Engine engine, MakeEngine(options.engine));
  AttentionCase shape = {.num_q_heads = 0,
                         .num_kv_heads = 0,
                         .head_dim = options.head_dim,
                         .tokens = options.tokens,
                         .kv_format = engine.kv_format,
                         .compute = engine.compute};
  ATTEND_RETURN_IF_ERROR(ParseHeads(options.heads, shape));
  ATTEND_ASSIGN_OR_RETURN(AttentionBench bench, AttentionBench::Make(shape, *engine.kernels, *engine.pool));
  ATTEND_ASSIGN_OR_RETURN(const Peaks peaks, MeasurePeaks(*engine.kernels, *engine.pool));
  ATTEND_ASSIGN_OR_RETURN(const Timings timings, RunRounds(bench, options));
  const Row rows[] = {
      {"prefill", "GFLOP/s", bench.PrefillFlops(), peaks.FlopsPerSecond(engine.compute), Summarise(timings.prefill)},
      {"decode, 1 token", "GB/s", bench.DecodeBytes(), peaks.read_bytes_per_s, Summarise(timings.decode)}};
  if (options.output.json) {
    PrintJson(options, engine, peaks, rows);
  } else {
    PrintTable(options, engine, peaks, rows);
  }
  return 0;
}

}  // namespace attend::cli
