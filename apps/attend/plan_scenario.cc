// attend plan --scenario: a case worked out in full, and the decisions it leads to.
#include <fmt/format.h>

#include "attend/plan_command.h"
#include "plan/number_text.h"
#include "plan/scenario.h"

namespace attend::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kReviewMinutes = 30;

void PrintRows(const Scenario& s, bool markdown) {
  if (markdown) fmt::print("| quantity | value | rule |\n|---|---|---|\n");
  for (const ScenarioRow& row : s.rows) {
    fmt::print(fmt::runtime(markdown ? "| {} | {} | {} |\n" : "{:<47} {:<48} {}\n"), row.quantity, row.value, row.rule);
  }
}

std::string DecisionText(const ScenarioDecision& d) {
  const Plan& p = d.plan;
  std::string text = fmt::format("{}: {}, {:.1f} GB", Bold(d.situation), VerdictText(p),
                                 static_cast<double>(p.memory.total_bytes) / 1e9);
  if (p.times) text += ", prefill " + SecondsText(p.times->prefill_s.expected);
  text += "\n  " + p.reason + "\n";
  if (p.review_minutes > 0)
    text += fmt::format("  A person spends {:.0f} minutes on what the pieces lose.\n", p.review_minutes);
  for (const Change& c : p.changes) {
    const std::string pieces =
        c.num_pieces > 1 ? fmt::format(", {} pieces of {}", c.num_pieces, Grouped(c.piece_tokens)) : ", one pass";
    text += fmt::format("  else {}{}{}: {}\n", c.what, c.inside_reserve ? " (inside the reserve)" : "", pieces,
                        PriceText(c));
  }
  return text;
}

Json ScenarioJson(const std::string& name, const Scenario& s) {
  Json rows = Json::array(), decisions = Json::array();
  for (const ScenarioRow& row : s.rows) {
    rows.push_back({{"quantity", row.quantity}, {"value", row.value}, {"rule", row.rule}, {"numbers", row.numbers}});
  }
  ModelShape model;
  model.name = "law-firm-13b";
  for (const ScenarioDecision& d : s.decisions) {
    decisions.push_back({{"situation", d.situation}, {"plan", PlanJson({.plan = d.plan, .model = &model})}});
  }
  return {{"schema", "attend.plan.scenario"},
          {"version", 1},
          {"scenario", name},
          {"story", s.story},
          {"rows", rows},
          {"both_sides", s.both_sides},
          {"decisions", decisions}};
}

}  // namespace

Outcome RunPlanScenario(const PlanCommandOptions& options) {
  const double minutes = options.setting.review_minutes > 0 ? options.setting.review_minutes : kReviewMinutes;
  ATTEND_ASSIGN_OR_RETURN(const Scenario scenario, LawFirmScenario(minutes));
  if (options.output.json) {
    fmt::print("{}\n", ScenarioJson(options.scenario, scenario).dump(2));
    return 0;
  }
  fmt::print("{}\n\n", scenario.story);
  PrintRows(scenario, options.markdown);
  fmt::print("\n{}\n\n", scenario.both_sides);
  for (const ScenarioDecision& d : scenario.decisions) fmt::print("{}\n", DecisionText(d));
  return 0;
}

}  // namespace attend::cli
