// attend bench attention: attention calls by themselves.
#pragma once

#include <string>
#include <vector>

#include "attend/command.h"

namespace attend::cli {

struct BenchAttentionOptions {
  EngineOptions engine;
  OutputOptions output;
  std::string heads = "32/8";
  int64_t head_dim = 128;
  int64_t tokens = 4096;
  std::vector<std::string> cases;
  bool from_stdin = false;
  bool bars = false;
  bool errors = false;
  int rounds = 9;
  int warm_ups = 2;
};

void AddBenchAttentionOptions(CLI::App* command, BenchAttentionOptions& options);
Outcome RunBenchAttention(const BenchAttentionOptions& options);

// The lines of the table of bars, PASS or the shortfall. Exit code 1 when one is missed.
Outcome RunAttentionBars(const BenchAttentionOptions& options);
// The error of each cache format and class against double precision, per length.
Outcome RunAttentionErrors(const BenchAttentionOptions& options);

}  // namespace attend::cli
