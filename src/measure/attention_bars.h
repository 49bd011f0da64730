// What attention must reach on any machine: ratios of figures that were measured in turn, each against its bar.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/machine.h"
#include "measure/attention_bench.h"
#include "measure/peaks.h"

namespace attend {

struct Bar {
  std::string what;
  double bar = 0;
  bool at_least = true;  // measured >= bar passes; else measured <= bar
  double measured = 0;
  double spread = 0;    // of the timings behind it, as a share of their median
  std::string details;  // what was compared

  bool passed() const { return at_least ? measured >= bar : measured <= bar; }
};

struct BarOptions {
  int rounds = 9;
  int warm_ups = 2;
  // Called before each group of bars with what comes next and how many groups are done of how many. False stops.
  std::function<bool(const std::string& next, int done, int total)> on_group;
};

// Errors: interrupted when on_group said so; out_of_memory.
Result<std::vector<Bar>> MeasureAttentionBars(const Machine& machine, ThreadPool& pool, const BarOptions& options);

}  // namespace attend
