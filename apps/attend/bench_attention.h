// attend bench attention: one attention call by itself.
#pragma once

#include <string>

#include "attend/command.h"

namespace attend::cli {

struct BenchAttentionOptions {
  EngineOptions engine;
  OutputOptions output;
  std::string heads = "32/8";
  int64_t head_dim = 128;
  int64_t tokens = 4096;
  int rounds = 9;
  int warm_ups = 2;
};

void AddBenchAttentionOptions(CLI::App* command, BenchAttentionOptions& options);
Outcome RunBenchAttention(const BenchAttentionOptions& options);

}  // namespace attend::cli
