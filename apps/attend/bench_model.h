// attend bench -m MODEL: whole-model tests as a table or JSON, or one at a time as they are asked for on stdin.
#pragma once

#include <string>

#include "attend/command.h"

namespace attend::cli {

struct BenchModelOptions {
  EngineOptions engine;
  OutputOptions output;
  std::string tests = "pp512,tg64";
  int rounds = 9;
  int warm_ups = 2;
};

Outcome RunBenchModel(const BenchModelOptions& options);

// Prints a header line, then for every line "pp512" read from stdin one JSON line {"test", "seconds", "tokens_per_s"}:
// what lets bench/peers alternate this program with another in one run. A line that is no test gets {"error"}.
Outcome ServeBenchModel(const BenchModelOptions& options);

}  // namespace attend::cli
