// attend plan --policy all: the same document by the rules of every runtime, side by side.
#include <fmt/format.h>

#include "attend/plan_command.h"
#include "plan/number_text.h"

namespace attend::cli {
namespace {

struct PolicyPlan {
  PlanRequest request;
  Plan plan;
};

std::string PolicyRow(const PolicyPlan& p) {
  const PlanMemory& m = p.plan.memory;
  return fmt::format("{:<10} {:<32} {:>10} {:>10} {:>10} {:>10} {:>12}\n", NameOf(p.plan.policy), VerdictText(p.plan),
                     FormatBytes(m.weights_bytes), FormatBytes(m.kv_bytes),
                     FormatBytes(m.workspace_bytes + m.process_bytes), FormatBytes(m.total_bytes),
                     p.plan.fits_tokens > 0 ? Grouped(p.plan.fits_tokens) : "none");
}

}  // namespace

Outcome RunPlanPolicies(const PlanCommandOptions& options, const Planning& planning) {
  std::vector<PolicyPlan> plans;
  std::vector<std::string> absent;  // and why
  for (Policy policy : AllPolicies()) {
    if (policy == Policy::kOurs && planning.policy != Policy::kOurs) {
      absent.push_back("ours: needs a model that runs here, on a CPU");
      continue;
    }
    auto request = RequestOf(options, planning, policy);
    if (!request && request.error().code == ErrorCode::kUsage) {
      absent.push_back(fmt::format("{}: no cache of {}", NameOf(policy), options.engine.kv));
      continue;
    }
    if (!request) return tl::unexpected(request.error());
    ATTEND_ASSIGN_OR_RETURN(Plan plan, MakePlan(*request));
    plans.push_back({std::move(*request), std::move(plan)});
  }
  if (plans.empty()) {
    return tl::unexpected(UsageError("--kv", "a format that one of the policies has", options.engine.kv));
  }
  if (options.output.json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const PolicyPlan& p : plans) {
      all.push_back(PlanJson({.plan = p.plan,
                              .model = &p.request.footprint.shape,
                              .device = DeviceText(planning.DeviceOrNull()),
                              .explain = options.explain}));
    }
    const nlohmann::ordered_json json = {
        {"schema", "attend.plan.policies"}, {"version", 1}, {"plans", all}, {"absent", absent}};
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  fmt::print("{:<10} {:<32} {:>10} {:>10} {:>10} {:>10} {:>12}\n", "policy", "verdict", "weights", "KV cache",
             "workspace", "needed", "fits tokens");
  for (const PolicyPlan& p : plans) fmt::print("{}", PolicyRow(p));
  const PlanRequest& first = plans.front().request;
  const ModelShape& shape = first.footprint.shape;
  const uint64_t tokens = static_cast<uint64_t>(first.document_tokens + first.question_tokens + first.answer_tokens);
  const auto grouped = [](uint64_t bytes) { return Grouped(static_cast<int64_t>(bytes)); };
  fmt::print(
      "\na token of the cache in 16 bits: {} B once every window is full, {} B before and where window layers are "
      "charged as full ones\n",
      grouped(shape.KvBytesPerLateToken(KvFormat::Both(DType::kF16))),
      grouped(shape.KvBytesPerToken(KvFormat::Both(DType::kF16))));
  fmt::print("of one pass: {} of K*Q without flash attention (n_ubatch {}), {} of all attention maps in 16 bits\n",
             BothBytesText(KqBufferBytes(shape, tokens, first.runtime.ubatch_tokens)), first.runtime.ubatch_tokens,
             BothBytesText(AttentionMapBytes(shape, tokens)));
  for (const std::string& line : absent) fmt::print("not listed  {}\n", line);
  return 0;
}

}  // namespace attend::cli
