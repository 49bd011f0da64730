// A plan for a person and for a program. `plan` prints the table, `read` the summary; both give the same JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "model/load.h"
#include "plan/plan.h"

namespace attend::cli {

// The verdict, the reason, memory and time in one short paragraph, with a newline at its end.
std::string PlanSummary(const Plan& plan);

// Everything a person decides by: verdict first, then tokens, memory with bars, time, what would change the verdict.
// `explain` adds every number with its formula and inputs.
std::string PlanTable(const Plan& plan, const ModelShape& model, bool explain);

// {"schema": "attend.plan", "version": 1, ...} (docs/reference/plan.md).
nlohmann::ordered_json PlanJson(const Plan& plan, const ModelShape& model, bool explain);

}  // namespace attend::cli
