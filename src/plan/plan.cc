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

constexpr int64_t kMaxCount = int64_t{1} << 20;

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
  ATTEND_RETURN_IF_ERROR(CheckCount("rounds", r.rounds, 1, kMaxCount));
  ATTEND_RETURN_IF_ERROR(CheckCount("num_devices", r.num_devices, 1, kMaxCount));
  const RuntimeSettings& s = r.runtime;
  ATTEND_RETURN_IF_ERROR(CheckCount("concurrent", s.concurrent, 1, kMaxCount));
  ATTEND_RETURN_IF_ERROR(CheckCount("chunk_tokens", s.chunk_tokens, 1, kMaxCount));
  ATTEND_RETURN_IF_ERROR(CheckCount("threads", s.threads, 1, kMaxCount));
  ATTEND_RETURN_IF_ERROR(CheckCount("ubatch_tokens", s.ubatch_tokens, 1, kMaxCount));
  ATTEND_RETURN_IF_ERROR(CheckCount("page_tokens", s.page_tokens, 1, kMaxCount));
  ATTEND_RETURN_IF_ERROR(CheckCount("batched_tokens", s.batched_tokens, 1, kMaxCount));
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
  p.rounds = r.rounds;
  p.concurrent = r.runtime.concurrent;
  p.num_devices = r.num_devices;
  p.num_pieces = d.cut.num_pieces;
  if (d.cut.num_pieces > 1) p.review_minutes = r.review_minutes;
  p.piece_tokens = d.cut.piece_tokens;
  p.pass_tokens = d.cut.piece_tokens + OverheadTokens(r);
  p.context_tokens = ContextLimit(r);
  p.trained_tokens = r.footprint.shape.trained_tokens;
  p.fits_tokens = std::max<int64_t>(0, d.piece_limit_tokens);
}

double UnmaskedFlops(const PlanRequest& r, const Cut& cut) {
  const ModelShape& shape = r.footprint.shape;
  const int64_t whole = r.document_tokens / cut.piece_tokens, rest = r.document_tokens % cut.piece_tokens;
  const double last = rest > 0 ? shape.UnmaskedAttentionFlops(rest + r.question_tokens) : 0;
  const double each = shape.UnmaskedAttentionFlops(cut.piece_tokens + r.question_tokens);
  return static_cast<double>(r.runtime.concurrent) * (static_cast<double>(whole) * each + last);
}

void FillCosts(const PlanRequest& r, const Decision& d, Plan& p) {
  p.memory = MemoryOf(r, p.pass_tokens);
  if (d.limit == Limit::kMemory && d.verdict == Verdict::kRefused)
    p.shortfall_bytes = p.memory.total_bytes - p.memory.usable_bytes;
  const ModelShape& shape = r.footprint.shape;
  p.kv_bytes_per_token = shape.KvBytesPerToken(r.kv_format);
  p.kv_bytes_per_late_token = shape.KvBytesPerLateToken(r.kv_format);
  const uint64_t pass_tokens = static_cast<uint64_t>(p.pass_tokens);
  p.unchunked_bytes = SaturatedAdd(p.memory.total_bytes, UnchunkedActivationBytes(shape, pass_tokens));
  p.kq_buffer_bytes = KqBufferBytes(shape, pass_tokens, r.runtime.ubatch_tokens);
  p.attention_map_bytes = AttentionMapBytes(shape, pass_tokens);
  const Work work = WorkOf(r, d.cut);
  p.linear_flops = work.linear_flops;
  p.attention_flops = work.attention_flops;
  p.unmasked_attention_flops = UnmaskedFlops(r, d.cut);
  p.decode_weight_bytes = r.footprint.decode_weight_bytes;
  p.decode_depth_tokens = DecodeDepth(r, d.cut);
  p.decode_kv_bytes = r.footprint.shape.KvBytes(r.kv_format, static_cast<uint64_t>(p.decode_depth_tokens));
  p.times = TimesOf(r, d.cut);
  p.in_time_tokens = LargestInTime(r);
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

Result<Plan> MakePlan(const PlanRequest& asked) {
  ATTEND_RETURN_IF_ERROR(CheckRequest(asked));
  PlanRequest request = asked;
  if (asked.num_devices > 1) request.footprint = Shard(asked.footprint, asked.num_devices);
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
