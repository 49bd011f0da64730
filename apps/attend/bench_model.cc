#include "attend/bench_model.h"

#include <fmt/format.h>

#include <iostream>

#include "attend/bench_report.h"
#include "attend/model_places.h"
#include "measure/model_bench.h"
#include "model/load.h"

namespace attend::cli {
namespace {

// Kept in one place on the heap: the bench refers to the weights.
struct Loaded {
  Engine engine;
  std::string path;
  LoadedModel model;
  Peaks peaks;
};

struct TestResult {
  ModelTest test;
  double bound_s = 0;
  std::vector<double> seconds;  // one a round

  double TokensPerSecond(double s) const { return static_cast<double>(test.tokens) / s; }
};

Result<std::unique_ptr<Loaded>> Load(const EngineOptions& options) {
  auto loaded = std::make_unique<Loaded>();
  ATTEND_ASSIGN_OR_RETURN(loaded->engine, MakeEngine(options));
  ATTEND_ASSIGN_OR_RETURN(loaded->path, FindModel(options));
  ATTEND_ASSIGN_OR_RETURN(loaded->model, LoadModelFor(options, loaded->path, loaded->engine));
  ATTEND_ASSIGN_OR_RETURN(loaded->peaks, MeasurePeaks(*loaded->engine.kernels, *loaded->engine.pool));
  return loaded;
}

Result<ModelBench> MakeBench(const Loaded& l) {
  return ModelBench::Make(l.model.front.header, l.model.weights, *l.engine.kernels, *l.engine.pool, l.engine.compute,
                          l.engine.kv_format);
}

std::string FileName(const std::string& path) {
  return EscapeForTerminal(path.substr(path.find_last_of('/') + 1));
}

Error Stopped() {
  return {.code = ErrorCode::kInterrupted,
          .where = "bench",
          .subject = {},
          .expected = {},
          .found = {},
          .hint = {},
          .byte_offset = std::nullopt};
}

// Round by round over all tests, so that a change of the machine's speed meets all of them.
Result<std::vector<TestResult>> RunRounds(const BenchModelOptions& options, const std::vector<ModelTest>& tests,
                                          const Loaded& l) {
  ATTEND_ASSIGN_OR_RETURN(ModelBench bench, MakeBench(l));
  std::vector<TestResult> results;
  for (const ModelTest& test : tests) results.push_back({test, bench.BoundSeconds(test, l.peaks), {}});
  const int rounds = options.warm_ups + options.rounds;
  Progress progress("bench", "runs", int64_t{rounds} * static_cast<int64_t>(tests.size()),
                    !options.output.no_progress && !options.output.quiet);
  int64_t done = 0;
  for (int round = 0; round < rounds; ++round) {
    for (TestResult& result : results) {
      if (Interrupted()) return tl::unexpected(Stopped());
      ATTEND_ASSIGN_OR_RETURN(const double seconds, bench.Run(result.test));
      if (round >= options.warm_ups) result.seconds.push_back(seconds);
      progress.Update(++done);
    }
  }
  return results;
}

void PrintTable(const BenchModelOptions& options, const Loaded& l, const std::vector<TestResult>& results) {
  if (!options.output.quiet) {
    PrintBenchHeader(l.engine, l.peaks);
    fmt::print("model    {}, {} of weights, {} rounds\n\n", FileName(l.path), FormatBytes(l.model.weights.size_bytes()),
               options.rounds);
  }
  PrintBenchRow({"test", "tokens/s", "spread", "bound", "of bound"}, true);
  for (const TestResult& r : results) {
    const Summary s = Summarise(r.seconds);
    PrintBenchRow({NameOf(r.test), fmt::format("{:.1f}", r.TokensPerSecond(s.median)), Percent(s.spread),
                   fmt::format("{:.1f}", r.TokensPerSecond(r.bound_s)), Percent(r.bound_s / s.median)});
  }
  if (!options.output.quiet) {
    fmt::print(
        "\nbound: a prompt's FLOPs at the measured peak, a generated token's weights and cache at the measured read "
        "speed;\n"
        "spread: distance of the quartiles over the median\n");
  }
}

void PrintJson(const Loaded& l, const std::vector<TestResult>& results) {
  nlohmann::ordered_json json = BenchJson(l.engine, l.peaks, "model");
  json["model"] = FileName(l.path);
  json["weight_bytes"] = l.model.weights.size_bytes();
  json["tests"] = nlohmann::ordered_json::array();
  for (const TestResult& r : results) {
    const Summary s = Summarise(r.seconds);
    json["tests"].push_back({{"name", NameOf(r.test)},
                             {"tokens", r.test.tokens},
                             {"depth", r.test.depth},
                             {"tokens_per_s", r.TokensPerSecond(s.median)},
                             {"spread", s.spread},
                             {"bound_tokens_per_s", r.TokensPerSecond(r.bound_s)},
                             {"share_of_bound", r.bound_s / s.median},
                             {"seconds", r.seconds}});
  }
  fmt::print("{}\n", json.dump(2));
}

void PrintLine(const nlohmann::ordered_json& json) {
  fmt::print("{}\n", json.dump());
  std::fflush(stdout);
}

}  // namespace

Outcome RunBenchModel(const BenchModelOptions& options) {
  ATTEND_ASSIGN_OR_RETURN(const std::vector<ModelTest> tests, ParseModelTests(options.tests));
  ATTEND_ASSIGN_OR_RETURN(const std::unique_ptr<Loaded> loaded, Load(options.engine));
  ATTEND_ASSIGN_OR_RETURN(const std::vector<TestResult> results, RunRounds(options, tests, *loaded));
  if (options.output.json) {
    PrintJson(*loaded, results);
  } else {
    PrintTable(options, *loaded, results);
  }
  return 0;
}

Outcome ServeBenchModel(const BenchModelOptions& options) {
  ATTEND_ASSIGN_OR_RETURN(const std::unique_ptr<Loaded> loaded, Load(options.engine));
  ATTEND_ASSIGN_OR_RETURN(ModelBench bench, MakeBench(*loaded));
  nlohmann::ordered_json header = BenchJson(loaded->engine, loaded->peaks, "serve");
  header["model"] = FileName(loaded->path);
  header["weight_bytes"] = loaded->model.weights.size_bytes();
  PrintLine(header);
  for (std::string line; std::getline(std::cin, line);) {
    const auto test = ParseModelTest(line);
    const auto seconds = test ? bench.Run(*test) : tl::unexpected(test.error());
    if (!seconds) {
      PrintLine({{"error", Describe(seconds.error())}});
      continue;
    }
    PrintLine({{"test", NameOf(*test)},
               {"seconds", *seconds},
               {"tokens_per_s", static_cast<double>(test->tokens) / *seconds},
               {"bound_tokens_per_s", static_cast<double>(test->tokens) / bench.BoundSeconds(*test, loaded->peaks)}});
  }
  return 0;
}

}  // namespace attend::cli
