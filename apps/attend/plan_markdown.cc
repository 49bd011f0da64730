#include <fmt/format.h>

#include "attend/plan_output.h"
#include "plan/number_text.h"

namespace attend::cli {
namespace {

// A cell of a table: bars and line breaks would end it.
std::string Cell(const std::string& text) {
  std::string cell;
  for (char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

std::string Line(const std::string& name, const std::string& value) {
  return fmt::format("| {} | {} |\n", Cell(name), Cell(value));
}

}  // namespace

std::string PlanMarkdown(const PlanReport& report) {
  const Plan& p = report.plan;
  const ModelShape& model = *report.model;
  std::string text = fmt::format("## {}\n\n{}\n\n| | |\n|---|---|\n", VerdictText(p), p.reason);
  text += Line("model", model.name.empty() ? model.architecture : model.name);
  if (!report.device.empty()) text += Line("device", report.device);
  text += Line("policy", fmt::format("{}: {}", NameOf(p.policy), DescriptionOf(p.policy)));
  for (const std::string& doubt : p.doubts) text += Line("assumed", doubt);
  text += Line("document", Grouped(p.document_tokens) + " tokens");
  text += Line("passes", fmt::format("{} of {} tokens with question and answer", p.num_pieces, Grouped(p.pass_tokens)));
  text += Line("weights", BothBytesText(p.memory.weights_bytes));
  text += Line("KV cache", BothBytesText(p.memory.kv_bytes));
  text += Line("workspace", BothBytesText(p.memory.workspace_bytes + p.memory.process_bytes));
  text += Line("needed", fmt::format("{} of {} usable", BothBytesText(p.memory.total_bytes),
                                     BothBytesText(p.memory.usable_bytes)));
  if (p.times) {
    text += Line("prefill", SecondsText(p.times->prefill_s.expected));
    text += Line("answer", SecondsText(p.times->decode_s.expected + p.times->evidence_s.expected));
    text += Line("in all", fmt::format("{} ({} to {})", SecondsText(p.times->total_s.expected),
                                       SecondsText(p.times->total_s.low), SecondsText(p.times->total_s.high)));
  }
  if (!p.changes.empty()) text += "\n| change | its price |\n|---|---|\n";
  for (const Change& c : p.changes) text += Line(c.what, PriceText(c));
  if (!report.explain) return text;
  text += "\n| number | formula | inputs | result |\n|---|---|---|---|\n";
  for (const Formula& f : p.formulas) {
    text += fmt::format("| {} | {} | {} | {:.6g} {} |\n", f.name, Cell(f.formula), Cell(f.inputs), f.result, f.unit);
  }
  return text;
}

}  // namespace attend::cli
