// A case worked out in full: every quantity that the decision rests on, as one would check it by hand, and the decision
// itself, made by MakePlan.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"

namespace attend {

struct ScenarioRow {
  std::string quantity;
  std::string value;            // "20.97 GB / 104.9 GB"
  std::string rule;             // where it comes from
  std::vector<double> numbers;  // those of `value`, unrounded: bytes, FLOP, seconds
};

struct ScenarioDecision {
  std::string situation;  // "40 GB card, free choice"
  Plan plan;
};

struct Scenario {
  std::string story;
  std::vector<ScenarioRow> rows;
  std::vector<ScenarioDecision> decisions;
  std::string both_sides;  // what the faster way saves and what it costs, in one line
};

// A law firm's contract of 128,000 tokens, one pass or 8 pieces of 16,000, on a card of 80 or 40 GB with 2 TB/s and an
// effective 100 TFLOP/s; `review_minutes` is what a lawyer spends on what pieces lose. Errors: none but those of the
// presets that it plans with.
Result<Scenario> LawFirmScenario(double review_minutes);

}  // namespace attend
