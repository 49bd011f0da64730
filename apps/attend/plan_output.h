// A plan for a person and for a program. `plan` prints the table, `read` the summary; both give the same JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "plan/capacity.h"
#include "plan/plan.h"

namespace attend::cli {

// A plan and what its reader should know beside it.
struct PlanReport {
  const Plan& plan;
  const ModelShape* model = nullptr;                // of the whole model, not a share of it
  std::string device = {};                          // empty: this machine
  std::optional<Capacity> capacity = std::nullopt;  // where it was asked for
  bool explain = false;                             // every number with its formula and inputs
};

// The verdict, the reason, memory and time in one short paragraph, with a newline at its end.
std::string PlanSummary(const Plan& plan);

// Everything a person decides by: verdict first, then tokens, memory and time with bars, what would change the verdict.
std::string PlanTable(const PlanReport& report);

// The same for a report, as GitHub-flavoured Markdown.
std::string PlanMarkdown(const PlanReport& report);

// {"schema": "attend.plan", "version": 1, ...} (docs/reference/plan.md).
nlohmann::ordered_json PlanJson(const PlanReport& report);

// "Fits in one pass", "Fits in 3 pieces of 42,667 tokens", "Does not fit".
std::string VerdictText(const Plan& plan);
// What a change costs: "31.9 GB, 2 min 47 s, +0.155 nats a token; keys and values are rounded ...".
std::string PriceText(const Change& change);

}  // namespace attend::cli
