// attend plan --emit: the command line that starts another runtime as this plan decided.
#include <fmt/format.h>

#include "attend/plan_command.h"

namespace attend::cli {
namespace {

constexpr int64_t kContextMultiple = 256;

// A path or a name as one word of a shell.
std::string Word(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/+:@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string word = "'";
  for (char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string LlamaCppLine(const PlanRequest& r, const Plan& p, const std::string& model) {
  const int64_t cells = p.pass_tokens * p.concurrent;
  return fmt::format("llama-server -m {} -c {} -np {} -ub {} -fa {} -ctk {} -ctv {}", Word(model),
                     (cells + kContextMultiple - 1) / kContextMultiple * kContextMultiple, p.concurrent,
                     r.runtime.ubatch_tokens, r.runtime.flash_attention ? "on" : "off", NameOf(r.kv_format.k),
                     NameOf(r.kv_format.v));
}

std::string VllmLine(const PlanRequest& r, const Plan& p, const std::string& model) {
  const double used = 1 - static_cast<double>(p.memory.reserve_bytes) / static_cast<double>(p.memory.limit_bytes);
  return fmt::format(
      "vllm serve {} --max-model-len {} --max-num-seqs {} --max-num-batched-tokens {} --block-size {} "
      "--tensor-parallel-size {} --gpu-memory-utilization {:.2f} --kv-cache-dtype {}",
      Word(model), p.pass_tokens, p.concurrent, r.runtime.batched_tokens, r.runtime.page_tokens, p.num_devices, used,
      r.kv_format.k == DType::kFp8 ? "fp8" : "auto");
}

}  // namespace

Outcome RunPlanEmit(const PlanCommandOptions& options, const Planning& planning) {
  const Policy policy = *FindPolicy(options.emit);
  ATTEND_ASSIGN_OR_RETURN(const PlanRequest request, RequestOf(options, planning, policy));
  ATTEND_ASSIGN_OR_RETURN(const Plan plan, MakePlan(request));
  fmt::print(stderr, "{}", PlanSummary(plan));
  if (plan.verdict == Verdict::kRefused) return 1;
  const std::string model = options.engine.model.empty() ? request.footprint.shape.name : options.engine.model;
  fmt::print("{}\n", policy == Policy::kVllm ? VllmLine(request, plan, model) : LlamaCppLine(request, plan, model));
  return 0;
}

}  // namespace attend::cli
