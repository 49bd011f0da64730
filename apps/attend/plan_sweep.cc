#include "attend/plan_sweep.h"

#include <fmt/format.h>

#include <charconv>

namespace attend::cli {
namespace {

constexpr size_t kMostLengths = 10'000;

std::optional<int64_t> Length(std::string_view text) {
  int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || value < 1 || value > kMaxPlanTokens)
    return std::nullopt;
  return value;
}

std::string SecondsCell(const Plan& p, Estimate PlanTimes::*part) {
  return p.times ? fmt::format("{:.6g}", ((*p.times).*part).expected) : "";
}

}  // namespace

Result<std::vector<int64_t>> ParseLengths(const std::string& text) {
  const tl::unexpected<Error> wrong(
      UsageError("--sweep", "lengths as in 1000,8000,64000, or a range as in 1000..128000", text));
  std::vector<int64_t> lengths;
  if (const size_t dots = text.find(".."); dots != std::string::npos) {
    const auto first = Length(std::string_view(text).substr(0, dots));
    const auto last = Length(std::string_view(text).substr(dots + 2));
    if (!first || !last || *first > *last) return wrong;
    for (int64_t tokens = *first; tokens < *last; tokens *= 2) lengths.push_back(tokens);
    lengths.push_back(*last);
    return lengths;
  }
  for (size_t start = 0; start <= text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    const auto tokens = Length(std::string_view(text).substr(start, comma - start));
    if (!tokens || lengths.size() == kMostLengths) return wrong;
    lengths.push_back(*tokens);
    start = comma + 1;
  }
  return lengths;
}

Result<std::vector<SweptPlan>> Sweep(const PlanCommandOptions& options, const Planning& planning,
                                     const std::vector<int64_t>& lengths) {
  ATTEND_ASSIGN_OR_RETURN(PlanRequest request, RequestOf(options, planning, planning.policy));
  std::vector<SweptPlan> plans;
  for (int64_t tokens : lengths) {
    request.document_tokens = tokens;
    ATTEND_ASSIGN_OR_RETURN(Plan plan, MakePlan(request));
    plans.push_back({tokens, std::move(plan)});
  }
  return plans;
}

Outcome RunPlanSweep(const PlanCommandOptions& options, const Planning& planning) {
  ATTEND_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, ParseLengths(options.sweep));
  ATTEND_ASSIGN_OR_RETURN(const std::vector<SweptPlan> plans, Sweep(options, planning, lengths));
  if (options.output.json) {
    ATTEND_ASSIGN_OR_RETURN(const ModelFootprint footprint, FootprintFor(planning.model, planning.policy));
    const ModelShape& shape = footprint.shape;
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const SweptPlan& p : plans) {
      all.push_back(PlanJson({.plan = p.plan, .model = &shape, .device = DeviceText(planning.DeviceOrNull())}));
    }
    fmt::print("{}\n",
               nlohmann::ordered_json({{"schema", "attend.plan.sweep"}, {"version", 1}, {"plans", all}}).dump(2));
    return 0;
  }
  fmt::print(
      "tokens,verdict,limit,num_pieces,piece_tokens,weights_bytes,kv_bytes,workspace_bytes,total_bytes,"
      "usable_bytes,prefill_s,answer_s,total_s\n");
  for (const auto& [tokens, p] : plans) {
    const PlanMemory& m = p.memory;
    fmt::print("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", tokens, NameOf(p.verdict), NameOf(p.limit), p.num_pieces,
               p.piece_tokens, m.weights_bytes, m.kv_bytes, m.workspace_bytes + m.process_bytes, m.total_bytes,
               m.usable_bytes, SecondsCell(p, &PlanTimes::prefill_s),
               p.times ? fmt::format("{:.6g}", p.times->decode_s.expected + p.times->evidence_s.expected) : "",
               SecondsCell(p, &PlanTimes::total_s));
  }
  return 0;
}

}  // namespace attend::cli
