// The tables of `attend bench attention --bars` and `--errors`.
#include <fmt/format.h>

#include <algorithm>

#include "attend/bench_attention.h"
#include "attend/bench_report.h"
#include "measure/attention_bars.h"
#include "measure/attention_errors.h"

namespace attend::cli {
namespace {

std::string Verdict(const Bar& bar) {
  if (bar.passed()) return "PASS";
  const double short_of = bar.at_least ? 1 - bar.measured / bar.bar : bar.measured / bar.bar - 1;
  return fmt::format("{} {}", Percent(short_of), bar.at_least ? "short" : "over");
}

void PrintBars(const Engine& engine, const Peaks& peaks, const BenchAttentionOptions& options,
               const std::vector<Bar>& bars) {
  if (!options.output.quiet) {
    PrintBenchHeader(engine, peaks);
    fmt::print("rounds   {}, after {} that do not count\n\n", options.rounds, options.warm_ups);
  }
  size_t width = 0;
  for (const Bar& bar : bars) width = std::max(width, bar.what.size());
  fmt::print("{}\n", Bold(fmt::format("{:<14}{:>9}{:>10}{:>9}  {:<{}}  {}", "", "measured", "bar", "spread", "what",
                                      width, "from")));
  for (const Bar& bar : bars) {
    fmt::print("{:<14}{:>9.3f}{:>10}{:>9}  {:<{}}  {}\n", Verdict(bar), bar.measured,
               fmt::format("{} {:.3g}", bar.at_least ? ">=" : "<=", bar.bar), Percent(bar.spread), bar.what, width,
               bar.details);
  }
  const auto passed = std::count_if(bars.begin(), bars.end(), [](const Bar& bar) { return bar.passed(); });
  fmt::print("\n{} of {} pass\n", passed, bars.size());
}

nlohmann::ordered_json JsonOf(const Bar& bar) {
  return {{"what", bar.what},       {"bar", bar.bar},       {"at_least", bar.at_least}, {"measured", bar.measured},
          {"passed", bar.passed()}, {"spread", bar.spread}, {"details", bar.details}};
}

const char* NameOf(CaseValues values) {
  return values == CaseValues::kOutliers ? "outliers" : "normal";
}

}  // namespace

Outcome RunAttentionBars(const BenchAttentionOptions& options) {
  ATTEND_ASSIGN_OR_RETURN(const Engine engine, MakeEngine(options.engine));
  ATTEND_ASSIGN_OR_RETURN(const Peaks peaks, MeasurePeaks(*engine.kernels, *engine.pool));
  const bool shows = !options.output.no_progress && !options.output.quiet;
  BarOptions bar_options{options.rounds, options.warm_ups, [&](const std::string& next, int done, int total) {
                           if (shows) fmt::print(stderr, "bars {} of {}: {}\n", done + 1, total, next);
                           return !Interrupted();
                         }};
  ATTEND_ASSIGN_OR_RETURN(const std::vector<Bar> bars, MeasureAttentionBars(engine.machine, *engine.pool, bar_options));
  if (options.output.json) {
    nlohmann::ordered_json json = BenchJson(engine, peaks, "attention_bars");
    json["bars"] = nlohmann::ordered_json::array();
    for (const Bar& bar : bars) json["bars"].push_back(JsonOf(bar));
    fmt::print("{}\n", json.dump(2));
  } else {
    PrintBars(engine, peaks, options, bars);
  }
  return std::all_of(bars.begin(), bars.end(), [](const Bar& bar) { return bar.passed(); }) ? 0 : 1;
}

Outcome RunAttentionErrors(const BenchAttentionOptions& options) {
  ATTEND_ASSIGN_OR_RETURN(const Engine engine, MakeEngine(options.engine));
  const std::vector<int64_t> kv_lens = {1024, 8192, 65536};
  ATTEND_ASSIGN_OR_RETURN(const std::vector<AttentionError> errors,
                          MeasureAttentionErrors(kv_lens, *engine.kernels, *engine.pool));
  if (options.output.json) {
    nlohmann::ordered_json json = {{"schema", "attend.bench"}, {"version", 1}, {"kind", "attention_errors"}};
    json["isa"] = NameOf(engine.machine.isa);
    for (const AttentionError& e : errors) {
      json["errors"].push_back({{"compute", NameOf(e.compute)},
                                {"kv_dtype", NameOf(e.format)},
                                {"values", NameOf(e.values)},
                                {"kv_len", e.kv_len},
                                {"relative_rms", e.relative_rms},
                                {"largest", e.largest}});
    }
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  if (!options.output.quiet) {
    fmt::print(
        "relative error |out - exact| / |exact|, 8 query heads on 2, D 128, 4 query tokens; outliers: channels of K\n");
    fmt::print("and q shifted by 15; exact: double precision over the values before they were stored\n\n");
  }
  std::string title = fmt::format("{:<10}{:<8}{:<10}", "values", "class", "cache");
  for (int64_t kv_len : kv_lens) title += fmt::format("{:>12}", fmt::format("T {}", kv_len));
  fmt::print("{}\n", Bold(title));
  const size_t ways = errors.size() / (2 * kv_lens.size());
  for (size_t values = 0; values < 2; ++values) {
    for (size_t way = 0; way < ways; ++way) {
      const size_t first = values * kv_lens.size() * ways + way;
      const AttentionError& e = errors[first];
      std::string line = fmt::format("{:<10}{:<8}{:<10}", NameOf(e.values), NameOf(e.compute), NameOf(e.format));
      for (size_t i = 0; i < kv_lens.size(); ++i)
        line += fmt::format("{:>12.2e}", errors[first + i * ways].relative_rms);
      fmt::print("{}\n", line);
    }
  }
  return 0;
}

}  // namespace attend::cli
