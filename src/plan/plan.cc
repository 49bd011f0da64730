#include "plan/plan.h"

#include <algorithm>
#include <cmath>

#include "formats/model_shapes.h"
#include "plan/changes.h"
#include "plan/decision.h"
#include "plan/explain.h"
#include "plan/reason.h"

namespace attend {
namespace {

Result<void> CheckCount(const char* subject, int64_t value, int64_t lowest, int64_t highest) {
  if (value >= lowest && value <= highest) return {};
  return tl::unexpected(Error{.code = ErrorCode::kBadArgument,
                              .where = "plan",
                              .subject = subject,
                              .expected = "between " + std::to_string(lowest) + " and " + std::to_string(highest),
                              .found = std::to_string(value),
                              .hint = {}});
}

Result<void> CheckRequest(const PlanRequest& r) {
  ATTEND_RETURN_IF_ERROR(CheckCount("document_tokens", r.document_tokens, 1, kMaxPlanTokens));
  ATTEND_RETURN_IF_ERROR(CheckCount("question_tokens", r.question_tokens, 0, kMaxPlanTokens));
  ATTEND_RETURN_IF_ERROR(CheckCount("answer_tokens", r.answer_tokens, 0, kMaxPlanTokens));
  ATTEND_RETURN_IF_ERROR(CheckCount("context_tokens", r.context_tokens, 0, r.footprint.shape.trained_tokens));
  ATTEND_RETURN_IF_ERROR(CheckCount("piece_tokens", r.piece_tokens.value_or(1), 1, kMaxPlanTokens));
  ATTEND_RETURN_IF_ERROR(CheckCount("max_pieces", r.max_pieces, 0, kMaxPlanTokens));
  ATTEND_RETURN_IF_ERROR(CheckCount("chunk_tokens", r.chunk_tokens, 1, int64_t{1} << 20));
  ATTEND_RETURN_IF_ERROR(CheckCount("threads", r.threads, 1, 1 << 16));
  if (!(r.reserve.percent >= 0 && r.reserve.percent <= 100) || (r.time_limit_s && !(*r.time_limit_s > 0))) {
    return tl::unexpected(
        Error{.code = ErrorCode::kBadArgument,
              .where = "plan",
              .subject = "reserve or time_limit_s",
              .expected = "0 to 100 percent, more than 0 seconds",
              .found = std::to_string(r.reserve.percent) + " %, " + std::to_string(r.time_limit_s.value_or(0)) + " s",
              .hint = {}});
  }
  return {};
}

void FillTokens(const PlanRequest& r, const Decision& d, Plan& p) {
  p.verdict = d.verdict;
  p.policy = r.footprint.policy;
  p.doubts = r.footprint.shape.doubts;
  p.limit = d.limit;
  p.document_tokens = r.document_tokens;
  p.question_tokens = r.question_tokens;
  p.answer_tokens = r.answer_tokens;
  p.num_pieces = d.cut.num_pieces;
  p.piece_tokens = d.cut.piece_tokens;
  p.pass_tokens = d.cut.piece_tokens + OverheadTokens(r);
  p.context_tokens = ContextLimit(r);
  p.trained_tokens = r.footprint.shape.trained_tokens;
  p.fits_tokens = std::max<int64_t>(0, d.piece_limit_tokens);
}

void FillCosts(const PlanRequest& r, const Decision& d, Plan& p) {
  p.memory = MemoryOf(r, p.pass_tokens);
  if (d.limit == Limit::kMemory && d.verdict == Verdict::kRefused)
    p.shortfall_bytes = p.memory.total_bytes - p.memory.usable_bytes;
  p.kv_bytes_per_token = r.footprint.shape.KvBytesPerToken(r.kv_format);
  const Work work = WorkOf(r, d.cut);
  p.linear_flops = work.linear_flops;
  p.attention_flops = work.attention_flops;
  p.decode_weight_bytes = r.footprint.decode_weight_bytes;
  p.decode_depth_tokens = DecodeDepth(r, d.cut);
  p.decode_kv_bytes = r.footprint.shape.KvBytes(r.kv_format, static_cast<uint64_t>(p.decode_depth_tokens));
  p.times = TimesOf(r, d.cut);
}

}  // namespace

std::string_view NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOnePass:
      return "one_pass";
    case Verdict::kPieces:
      return "pieces";
    case Verdict::kRefused:
      return "refused";
  }
  return "unknown";
}

std::string_view NameOf(Limit limit) {
  switch (limit) {
    case Limit::kNone:
      return "none";
    case Limit::kContext:
      return "context";
    case Limit::kMemory:
      return "memory";
    case Limit::kTime:
      return "time";
    case Limit::kPieceTokens:
      return "piece_tokens";
    case Limit::kMaxPieces:
      return "max_pieces";
  }
  return "unknown";
}

Result<Plan> MakePlan(const PlanRequest& request) {
  ATTEND_RETURN_IF_ERROR(CheckRequest(request));
  const Decision decision = Decide(request);
  Plan plan;
  FillTokens(request, decision, plan);
  FillCosts(request, decision, plan);
  plan.reason = ReasonFor(request, plan);
  plan.changes = FindChanges(request, decision);
  plan.formulas = ExplainPlan(request, plan);
  return plan;
}

}  // namespace attend
