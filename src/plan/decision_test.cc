// What holds for every request: nothing overflows, what was fixed stays, and more of a resource is never worse.
#include "plan/decision.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "formats/model_shapes.h"
#include "plan/plan_test_util.h"

namespace attend {
namespace {

int Rank(Verdict verdict) {
  return verdict == Verdict::kOnePass ? 2 : verdict == Verdict::kPieces ? 1 : 0;
}

// Any magnitude is as likely as another.
int64_t AnyTokens(int64_t lowest, int64_t highest) {
  const double low = std::log(static_cast<double>(lowest)), high = std::log(static_cast<double>(highest));
  const double at = *rc::gen::inRange(0, 1'000'001) / 1e6;
  return std::clamp(static_cast<int64_t>(std::exp(low + at * (high - low))), lowest, highest);
}

PlanRequest AnyRequest(int64_t most_tokens) {
  PlanRequest r = SmallRequest(AnyTokens(1, most_tokens));
  if (*rc::gen::arbitrary<bool>()) r.footprint.shape = ShapeOf(Llama8b());
  r.question_tokens = *rc::gen::inRange<int64_t>(0, 3000);
  r.answer_tokens = *rc::gen::inRange<int64_t>(0, 3000);
  r.kv_format = KvFormat::Both(*rc::gen::element(DType::kF32, DType::kBf16, DType::kQ8, DType::kQ4));
  r.runtime.threads = *rc::gen::inRange(1, 65);
  r.memory_limit_bytes = static_cast<uint64_t>(AnyTokens(1, int64_t{1} << 40));
  if (*rc::gen::arbitrary<bool>()) r.calibration = TwoSmallCores();
  if (*rc::gen::arbitrary<bool>()) r.time_limit_s = static_cast<double>(AnyTokens(1, 1'000'000));
  if (*rc::gen::inRange(0, 4) == 0) r.piece_tokens = AnyTokens(1, 100'000);
  if (*rc::gen::inRange(0, 3) == 0) r.max_pieces = AnyTokens(1, 1000);
  return r;
}

void CheckPlan(const PlanRequest& r, const Plan& p) {
  RC_ASSERT(p.num_pieces >= 1 && p.piece_tokens >= 1);
  RC_ASSERT((p.num_pieces - 1) * p.piece_tokens < r.document_tokens);
  RC_ASSERT(static_cast<double>(p.num_pieces) * static_cast<double>(p.piece_tokens) >=
            static_cast<double>(r.document_tokens) * (1 - 1e-15));
  RC_ASSERT(std::isfinite(p.linear_flops) && std::isfinite(p.attention_flops));
  RC_ASSERT((p.verdict == Verdict::kRefused) == (p.limit != Limit::kNone && p.verdict != Verdict::kPieces));
  RC_ASSERT(!p.reason.empty());
  if (p.verdict == Verdict::kRefused) return;
  RC_ASSERT(p.pass_tokens <= p.context_tokens);
  RC_ASSERT(p.memory.total_bytes <= p.memory.usable_bytes);
  RC_ASSERT(p.piece_tokens <= p.fits_tokens);
  RC_ASSERT((p.num_pieces == 1) == (p.verdict == Verdict::kOnePass));
  if (r.piece_tokens) RC_ASSERT(p.piece_tokens == std::min(*r.piece_tokens, r.document_tokens));
  if (r.max_pieces > 0) RC_ASSERT(p.num_pieces <= r.max_pieces);
  if (r.time_limit_s && p.times) RC_ASSERT(p.times->total_s.expected <= *r.time_limit_s);
}

RC_GTEST_PROP(Decision, AnyLengthGivesAPlanThatKeepsToItsLimits, ()) {
  const PlanRequest request = AnyRequest(kMaxPlanTokens);
  const auto plan = MakePlan(request);
  RC_ASSERT(plan.has_value());
  CheckPlan(request, *plan);
}

RC_GTEST_PROP(Decision, EveryChangeIsBetterThanThePlan, ()) {
  const PlanRequest request = AnyRequest(1'000'000);
  const auto plan = MakePlan(request);
  RC_ASSERT(plan.has_value());
  bool inside_reserve = false;
  for (const Change& change : plan->changes) {
    const bool fewer = request.piece_tokens && change.gives == plan->verdict && change.num_pieces < plan->num_pieces;
    RC_ASSERT(fewer || Rank(change.gives) > Rank(plan->verdict));
    RC_ASSERT(change.inside_reserve || !inside_reserve);
    inside_reserve = change.inside_reserve;
  }
}

RC_GTEST_PROP(Decision, MoreMemoryIsNeverWorse, ()) {
  PlanRequest request = AnyRequest(10'000'000);
  const Decision less = Decide(request);
  request.memory_limit_bytes += static_cast<uint64_t>(AnyTokens(1, int64_t{1} << 36));
  const Decision more = Decide(request);
  RC_ASSERT(Rank(more.verdict) >= Rank(less.verdict));
  RC_ASSERT(more.piece_limit_tokens >= less.piece_limit_tokens);
  if (less.verdict == Verdict::kPieces) RC_ASSERT(more.cut.num_pieces <= less.cut.num_pieces);
}

RC_GTEST_PROP(Decision, MoreTimeIsNeverWorse, ()) {
  PlanRequest request = AnyRequest(10'000'000);
  request.calibration = TwoSmallCores();
  request.time_limit_s = static_cast<double>(AnyTokens(1, 1'000'000));
  const Decision less = Decide(request);
  request.time_limit_s = *request.time_limit_s * 2;
  const Decision more = Decide(request);
  RC_ASSERT(Rank(more.verdict) >= Rank(less.verdict));
  if (less.verdict == Verdict::kPieces) RC_ASSERT(more.cut.num_pieces <= less.cut.num_pieces);
}

RC_GTEST_PROP(Decision, AShorterDocumentIsNeverWorse, ()) {
  PlanRequest request = AnyRequest(10'000'000);
  request.time_limit_s = std::nullopt;
  const Decision longer = Decide(request);
  request.document_tokens = AnyTokens(1, request.document_tokens);
  RC_ASSERT(Rank(Decide(request).verdict) >= Rank(longer.verdict));
}

}  // namespace
}  // namespace attend
