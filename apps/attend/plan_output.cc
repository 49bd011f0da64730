#include "attend/plan_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "attend/command.h"
#include "plan/number_text.h"

namespace attend::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kBarCells = 32;
constexpr double kExactWhole = 0x1p53;  // doubles below hold every whole number

std::string VerdictText(const Plan& p) {
  switch (p.verdict) {
    case Verdict::kOnePass:
      return "Fits in one pass";
    case Verdict::kPieces:
      return fmt::format("Fits in {} pieces of {} tokens", Grouped(p.num_pieces), Grouped(p.piece_tokens));
    case Verdict::kRefused:
      return "Does not fit";
  }
  return {};
}

std::string Between(const Estimate& seconds) {
  return fmt::format("{} to {}", SecondsText(seconds.low), SecondsText(seconds.high));
}

// The share of the whole, at most all of it: "######..........................".
std::string Bar(uint64_t bytes, uint64_t whole) {
  const double share = whole == 0 ? 1 : std::min(1.0, static_cast<double>(bytes) / static_cast<double>(whole));
  const size_t filled = static_cast<size_t>(share * kBarCells + 0.5);
  return std::string(filled, '#') + std::string(kBarCells - filled, '.');
}

std::string ShareText(uint64_t bytes, uint64_t whole) {
  if (whole == 0) return "nothing is usable";
  const double percent = 100 * static_cast<double>(bytes) / static_cast<double>(whole);
  return fmt::format("{:.{}f} % of usable", percent, percent < 10 ? 1 : 0);
}

// The parts against their sum, the sum against what may be used.
std::string MemoryRows(const Plan& p) {
  const PlanMemory& m = p.memory;
  std::string rows;
  const auto row = [&](const char* name, uint64_t bytes, uint64_t whole) {
    rows += fmt::format("  {:<12}{:>11}  {}", name, FormatBytes(bytes), Dim(Bar(bytes, whole)));
  };
  const std::pair<const char*, uint64_t> parts[] = {{"weights", m.weights_bytes},
                                                    {"KV cache", m.kv_bytes},
                                                    {"workspace", m.workspace_bytes},
                                                    {"process", m.process_bytes}};
  for (const auto& [name, bytes] : parts) {
    if (bytes == 0 && p.policy == Policy::kFormula) continue;  // not counted
    row(name, bytes, m.total_bytes);
    rows += '\n';
  }
  row("needed", m.total_bytes, m.usable_bytes);
  return rows + fmt::format("  {}\n", ShareText(m.total_bytes, m.usable_bytes));
}

std::string TimeRows(const Plan& p) {
  if (!p.times) return "time          not calibrated: no times\n";
  const PlanTimes& t = *p.times;
  std::string rows = fmt::format("time          {} expected, {}\n  prefill     {:>9}  {:.0f} tokens/s\n",
                                 Bold(SecondsText(t.total_s.expected)), Between(t.total_s),
                                 SecondsText(t.prefill_s.expected), t.prefill_tokens_per_s.expected);
  if (t.evidence_s.expected > 0)
    return rows +
           fmt::format("  evidence    {:>9}  every passage scored, for quotes\n", SecondsText(t.evidence_s.expected));
  return rows + fmt::format("  answer      {:>9}  {:.1f} tokens/s at token {}\n", SecondsText(t.decode_s.expected),
                            t.decode_tokens_per_s.expected, Grouped(p.decode_depth_tokens));
}

std::string ChangeRows(const Plan& p) {
  if (p.changes.empty()) return {};
  std::string rows = p.verdict == Verdict::kRefused ? "what would fit\n" : "what would give one pass\n";
  for (const Change& c : p.changes)
    rows += fmt::format("  {}{}: {}\n", c.what, c.inside_reserve ? " (inside the reserve)" : "", c.price);
  return rows;
}

std::string FormulaRows(const Plan& p) {
  std::string rows = "formulas\n";
  for (const Formula& f : p.formulas) {
    rows += fmt::format("  {} = {} {}\n    {}\n    {}\n", f.name,
                        f.result < kExactWhole && f.unit != "s" ? Grouped(static_cast<int64_t>(f.result))
                                                                : fmt::format("{:.4g}", f.result),
                        f.unit, f.formula, EscapeForTerminal(f.inputs));
  }
  return rows;
}

Json EstimateJson(const Estimate& e) {
  return {{"low", e.low}, {"expected", e.expected}, {"high", e.high}};
}

// A whole number where a double holds it exactly.
Json WholeJson(double value) {
  return value < kExactWhole ? Json(static_cast<int64_t>(value)) : Json(value);
}

Json TimesJson(const Plan& p) {
  if (!p.times) return nullptr;
  return {{"prefill_s", EstimateJson(p.times->prefill_s)},
          {"decode_s", EstimateJson(p.times->decode_s)},
          {"evidence_s", EstimateJson(p.times->evidence_s)},
          {"total_s", EstimateJson(p.times->total_s)},
          {"prefill_tokens_per_s", EstimateJson(p.times->prefill_tokens_per_s)},
          {"decode_tokens_per_s", EstimateJson(p.times->decode_tokens_per_s)}};
}

Json MemoryJson(const PlanMemory& m) {
  return {{"weights_bytes", m.weights_bytes}, {"kv_bytes", m.kv_bytes},        {"workspace_bytes", m.workspace_bytes},
          {"process_bytes", m.process_bytes}, {"total_bytes", m.total_bytes},  {"limit_bytes", m.limit_bytes},
          {"reserve_bytes", m.reserve_bytes}, {"usable_bytes", m.usable_bytes}};
}

Json ChangesJson(const Plan& p) {
  Json changes = Json::array();
  for (const Change& c : p.changes) {
    changes.push_back({{"what", c.what},
                       {"price", c.price},
                       {"gives", NameOf(c.gives)},
                       {"num_pieces", c.num_pieces},
                       {"inside_reserve", c.inside_reserve}});
  }
  return changes;
}

Json FormulasJson(const Plan& p) {
  Json formulas = Json::array();
  for (const Formula& f : p.formulas) {
    const Json result = f.unit == "s" ? Json(f.result) : WholeJson(f.result);
    formulas.push_back(
        {{"name", f.name}, {"formula", f.formula}, {"inputs", f.inputs}, {"result", result}, {"unit", f.unit}});
  }
  return formulas;
}

}  // namespace

std::string PlanSummary(const Plan& p) {
  std::string text = fmt::format("{}. {}", VerdictText(p), p.reason);
  if (p.times)
    text += fmt::format(" About {} ({}).", SecondsText(p.times->total_s.expected), Between(p.times->total_s));
  return text + "\n";
}

std::string PlanTable(const Plan& p, const ModelShape& model, bool explain) {
  std::string text = fmt::format("{}\n{}\n\n", Bold(VerdictText(p)), p.reason);
  text +=
      fmt::format("model         {}, trained on {} tokens\n",
                  model.name.empty() ? model.architecture : EscapeForTerminal(model.name), Grouped(p.trained_tokens));
  for (const std::string& doubt : p.doubts) text += fmt::format("assumed       {}\n", EscapeForTerminal(doubt));
  if (p.policy == Policy::kFormula) text += "policy        formula: weights and cache exactly, no workspace\n";
  text += fmt::format("document      {} tokens; {} in one pass\n", Grouped(p.document_tokens),
                      p.fits_tokens > 0 ? "up to " + Grouped(p.fits_tokens) + " fit" : "none fit");
  text += fmt::format("memory        {} of {} usable ({} less a reserve of {})\n", FormatBytes(p.memory.total_bytes),
                      FormatBytes(p.memory.usable_bytes), FormatBytes(p.memory.limit_bytes),
                      FormatBytes(p.memory.reserve_bytes));
  text += MemoryRows(p);
  if (p.verdict != Verdict::kRefused || p.limit == Limit::kTime) text += TimeRows(p);
  text += ChangeRows(p);
  return explain ? text + FormulaRows(p) : text;
}

Json PlanJson(const Plan& p, const ModelShape& model, bool explain) {
  Json json = {{"schema", "attend.plan"},
               {"version", 1},
               {"verdict", NameOf(p.verdict)},
               {"limit", NameOf(p.limit)},
               {"policy", NameOf(p.policy)},
               {"reason", p.reason},
               {"doubts", p.doubts},
               {"model", model.name},
               {"document_tokens", p.document_tokens},
               {"question_tokens", p.question_tokens},
               {"answer_tokens", p.answer_tokens},
               {"num_pieces", p.num_pieces},
               {"piece_tokens", p.piece_tokens},
               {"overlap_tokens", p.overlap_tokens},
               {"pass_tokens", p.pass_tokens},
               {"context_tokens", p.context_tokens},
               {"trained_tokens", p.trained_tokens},
               {"fits_tokens", p.fits_tokens},
               {"kv_bytes", p.memory.kv_bytes},
               {"kv_bytes_per_token", p.kv_bytes_per_token},
               {"shortfall_bytes", p.shortfall_bytes},
               {"memory", MemoryJson(p.memory)},
               {"linear_flops", WholeJson(p.linear_flops)},
               {"attention_flops", WholeJson(p.attention_flops)},
               {"decode_weight_bytes", p.decode_weight_bytes},
               {"decode_kv_bytes", p.decode_kv_bytes},
               {"decode_depth_tokens", p.decode_depth_tokens},
               {"times", TimesJson(p)},
               {"changes", ChangesJson(p)}};
  if (explain) json["formulas"] = FormulasJson(p);
  return json;
}

}  // namespace attend::cli
