#include <fmt/format.h>

#include <algorithm>

#include "attend/command.h"
#include "attend/plan_output.h"
#include "plan/number_text.h"

namespace attend::cli {
namespace {

constexpr int kBarCells = 32;
constexpr double kExactWhole = 0x1p53;  // doubles below hold every whole number

std::string Between(const Estimate& seconds) {
  return fmt::format("{} to {}", SecondsText(seconds.low), SecondsText(seconds.high));
}

// The share of the whole, at most all of it: "######..........................".
std::string Bar(double part, double whole) {
  const double share = whole > 0 ? std::min(1.0, part / whole) : 1;
  const size_t filled = static_cast<size_t>(share * kBarCells + 0.5);
  return std::string(filled, '#') + std::string(kBarCells - filled, '.');
}

std::string Row(const char* name, const std::string& figure, double part, double whole, const std::string& remark) {
  return fmt::format("  {:<10} {:>12}  {}{}{}\n", name, figure, Dim(Bar(part, whole)), remark.empty() ? "" : "  ",
                     remark);
}

std::string ShareText(uint64_t bytes, uint64_t whole) {
  if (whole == 0) return "nothing is usable";
  const double percent = 100 * static_cast<double>(bytes) / static_cast<double>(whole);
  return fmt::format("{:.{}f} % of usable", percent, percent < 10 ? 1 : 0);
}

// The parts against their sum, the sum against what may be used.
std::string MemoryRows(const Plan& p) {
  const PlanMemory& m = p.memory;
  const double total = static_cast<double>(m.total_bytes);
  std::string rows =
      fmt::format("memory        {} of {} usable ({} less a reserve of {}){}\n", BothBytesText(m.total_bytes),
                  BothBytesText(m.usable_bytes), FormatBytes(m.limit_bytes), FormatBytes(m.reserve_bytes),
                  p.num_devices > 1 ? ", on each device" : "");
  const std::tuple<const char*, uint64_t, std::string> parts[] = {
      {"weights", m.weights_bytes, ""},
      {"KV cache", m.kv_bytes, fmt::format("{} B a token", Grouped(static_cast<int64_t>(p.kv_bytes_per_token)))},
      {"workspace", m.workspace_bytes, ""},
      {"process", m.process_bytes, ""}};
  for (const auto& [name, bytes, remark] : parts) {
    if (bytes == 0 && p.policy != Policy::kOurs) continue;  // not counted
    rows += Row(name, FormatBytes(bytes), static_cast<double>(bytes), total, remark);
  }
  rows += Row("needed", FormatBytes(m.total_bytes), total, static_cast<double>(m.usable_bytes),
              ShareText(m.total_bytes, m.usable_bytes));
  if (p.policy == Policy::kFormula) {
    rows += fmt::format("  up to {} with the activations of an unchunked pass\n", BothBytesText(p.unchunked_bytes));
  }
  return rows;
}

// The parts against their sum.
std::string TimeRows(const Plan& p) {
  if (!p.times) return "time          no speeds: not calibrated, and no --device\n";
  const PlanTimes& t = *p.times;
  const double total = t.total_s.expected;
  std::string rows = fmt::format("time          {} expected, {}\n", Bold(SecondsText(total)), Between(t.total_s));
  const auto row = [&](const char* name, const Estimate& seconds, const std::string& remark) {
    if (seconds.expected > 0) rows += Row(name, SecondsText(seconds.expected), seconds.expected, total, remark);
  };
  row("prefill", t.prefill_s, fmt::format("{:.0f} tokens/s", t.prefill_tokens_per_s.expected));
  row("evidence", t.evidence_s, "every passage scored, for quotes");
  row("answer", t.decode_s,
      fmt::format("{:.1f} tokens/s at token {}", t.decode_tokens_per_s.expected, Grouped(p.decode_depth_tokens)));
  if (p.rounds > 1) {
    rows += fmt::format("  {} rounds over one prefill; reading anew for each would take {}\n", p.rounds,
                        SecondsText(t.anew_s.expected));
  }
  if (t.traffic_s > 0) rows += fmt::format("  of it {} between the devices\n", SecondsText(t.traffic_s));
  if (p.review_minutes > 0) {
    rows += fmt::format("  and {:.0f} minutes of a person, for what the pieces lose\n", p.review_minutes);
  }
  return rows;
}

std::string CapacityRows(const PlanReport& report) {
  if (!report.capacity) return {};
  const Capacity& c = *report.capacity;
  std::string rows = fmt::format("capacity      {} at once planned, {} fit\n", Grouped(report.plan.concurrent),
                                 Grouped(c.most_at_once));
  if (c.documents_per_hour) rows += fmt::format("  {:.1f} documents an hour\n", *c.documents_per_hour);
  if (c.price_per_document) rows += fmt::format("  {:.4f} a document\n", *c.price_per_document);
  if (c.utilisation && c.first_token_p95_s) {
    rows += fmt::format("  busy {:.0f} % of the time; first token within {} for 95 % of the documents\n",
                        100 * *c.utilisation, SecondsText(*c.first_token_p95_s));
  } else if (c.utilisation) {
    rows += fmt::format("  {:.1f} times what it can do: the queue grows without end\n", *c.utilisation);
  }
  return rows;
}

std::string ChangeRows(const Plan& p) {
  if (p.changes.empty()) return {};
  std::string rows = p.verdict == Verdict::kRefused   ? "what would fit\n"
                     : p.limit == Limit::kPieceTokens ? "what else would fit\n"
                                                      : "what would give one pass\n";
  for (const Change& c : p.changes) {
    const std::string pieces =
        c.num_pieces > 1 ? fmt::format(", {} pieces of {}", Grouped(c.num_pieces), Grouped(c.piece_tokens)) : "";
    rows +=
        fmt::format("  {}{}{}: {}\n", c.what, c.inside_reserve ? " (inside the reserve)" : "", pieces, PriceText(c));
  }
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

}  // namespace

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

std::string PriceText(const Change& c) {
  std::string text = BothBytesText(c.total_bytes);
  if (c.total_s) text += ", " + SecondsText(*c.total_s);
  if (c.nll_rise && *c.nll_rise > 0) text += fmt::format(", {:+.3f} nats a token (SmolLM2-135M)", *c.nll_rise);
  if (c.review_minutes > 0) text += fmt::format(", {:.0f} minutes of review", c.review_minutes);
  return text + "; " + c.price;
}

std::string PlanSummary(const Plan& p) {
  std::string text = fmt::format("{}. {}", VerdictText(p), p.reason);
  if (p.times)
    text += fmt::format(" About {} ({}).", SecondsText(p.times->total_s.expected), Between(p.times->total_s));
  return text + "\n";
}

std::string PlanTable(const PlanReport& report) {
  const Plan& p = report.plan;
  const ModelShape& model = *report.model;
  std::string text = fmt::format("{}\n{}\n\n", Bold(VerdictText(p)), p.reason);
  text +=
      fmt::format("model         {}, trained on {} tokens\n",
                  EscapeForTerminal(model.name.empty() ? model.architecture : model.name), Grouped(p.trained_tokens));
  for (const std::string& doubt : p.doubts) text += fmt::format("assumed       {}\n", EscapeForTerminal(doubt));
  if (!report.device.empty()) text += fmt::format("device        {}\n", EscapeForTerminal(report.device));
  if (p.policy != Policy::kOurs)
    text += fmt::format("policy        {}: {}\n", NameOf(p.policy), DescriptionOf(p.policy));
  text += fmt::format("document      {} tokens; {} in one pass\n", Grouped(p.document_tokens),
                      p.fits_tokens > 0 ? "up to " + Grouped(p.fits_tokens) + " fit" : "none fit");
  if (p.in_time_tokens > 0)
    text += fmt::format("              {} tokens in one pass within the time\n", Grouped(p.in_time_tokens));
  text += MemoryRows(p);
  if (p.verdict != Verdict::kRefused || p.limit == Limit::kTime) text += TimeRows(p);
  text += CapacityRows(report) + ChangeRows(p);
  return report.explain ? text + FormulaRows(p) : text;
}

}  // namespace attend::cli
