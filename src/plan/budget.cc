#include "plan/budget.h"

#include <algorithm>
#include <cmath>

#include "formats/model_shapes.h"

namespace attend {
namespace {

// How far a time may be off until there are runs to compare with: two cores shared with other programs swing by this
// much.
constexpr double kLowFactor = 0.8;
constexpr double kHighFactor = 1.3;

Estimate Around(double expected) {
  return {expected * kLowFactor, expected, expected * kHighFactor};
}

// tokens per second from seconds: the slowest is the longest.
Estimate RateOf(double tokens, const Estimate& seconds) {
  return {tokens / seconds.high, tokens / seconds.expected, tokens / seconds.low};
}

bool IsUsable(const Calibration& c) {
  for (double rate : {c.linear_flops_per_s, c.attention_flops_per_s, c.weight_bytes_per_s, c.kv_bytes_per_s}) {
    if (!std::isfinite(rate) || rate <= 0) return false;
  }
  return std::isfinite(c.element_s_per_token) && c.element_s_per_token >= 0;
}

// Adds `count` pieces of `piece_tokens` each.
void AddPieces(const PlanRequest& r, double count, int64_t piece_tokens, Work& work) {
  const int64_t prompt_tokens = piece_tokens + r.question_tokens;
  const ModelShape& shape = r.footprint.shape;
  work.linear_flops += count * shape.LinearFlops(prompt_tokens);
  work.attention_flops += count * shape.AttentionFlops(prompt_tokens, 0);
  work.prefill_tokens += count * static_cast<double>(prompt_tokens);
  if (r.quoted_questions > 0) return;
  work.decode_tokens += count * static_cast<double>(r.answer_tokens);
  // Answer token i reads prompt + i keys: on average half the answer more than the prompt.
  work.decode_kv_bytes += count * shape.KvReadBytes(r.kv_format, prompt_tokens, r.answer_tokens);
}

void AddEvidence(const PlanRequest& r, Work& work) {
  const double questions = static_cast<double>(r.quoted_questions);
  const double passages = std::ceil(static_cast<double>(r.document_tokens) / kPassageTokens);
  work.evidence_tokens = static_cast<double>(r.document_tokens) + passages * (kCueTokens + kAskedTokens * questions);
  work.evidence_passes = passages * (1 + questions);
}

}  // namespace

Cut CutBySize(int64_t document_tokens, int64_t piece_tokens) {
  return {(document_tokens - 1) / piece_tokens + 1, std::min(piece_tokens, document_tokens)};
}

Cut EvenCut(int64_t document_tokens, int64_t num_pieces) {
  return CutBySize(document_tokens, (document_tokens - 1) / num_pieces + 1);
}

int64_t OverheadTokens(const PlanRequest& r) {
  return r.question_tokens + r.answer_tokens;
}

int64_t ContextLimit(const PlanRequest& r) {
  const int64_t trained = r.footprint.shape.trained_tokens;
  return r.context_tokens > 0 ? std::min(r.context_tokens, trained) : trained;
}

uint64_t ReserveBytes(const PlanRequest& r) {
  const double share = static_cast<double>(r.memory_limit_bytes) * r.reserve.percent / 100;
  return std::min(r.memory_limit_bytes, r.reserve.bytes.value_or(static_cast<uint64_t>(share)));
}

PlanMemory MemoryOf(const PlanRequest& r, int64_t pass_tokens) {
  const ModelFootprint& f = r.footprint;
  PlanMemory m{.weights_bytes = f.weights_bytes,
               .kv_bytes = KvBytes(f, r.kv_format, pass_tokens),
               .workspace_bytes = WorkspaceBytes(f, r.chunk_tokens, r.bf16_copy, r.threads),
               .process_bytes = ProcessBytes(f),
               .limit_bytes = r.memory_limit_bytes,
               .reserve_bytes = ReserveBytes(r)};
  m.total_bytes = SaturatedAdd(SaturatedAdd(m.weights_bytes, m.kv_bytes), m.workspace_bytes + m.process_bytes);
  m.usable_bytes = m.limit_bytes - m.reserve_bytes;
  return m;
}

int64_t LargestPassTokens(const PlanRequest& r) {
  const PlanMemory empty = MemoryOf(r, 0);
  if (empty.total_bytes > empty.usable_bytes) return 0;
  const uint64_t left = empty.usable_bytes - empty.total_bytes;
  // Bytes never fall with tokens: halve what is between a length that fits and one that does not.
  int64_t fits = 0, beyond = 4 * kMaxPlanTokens;  // beyond any request
  while (fits + 1 < beyond) {
    const int64_t middle = fits + (beyond - fits) / 2;
    (KvBytes(r.footprint, r.kv_format, middle) - empty.kv_bytes <= left ? fits : beyond) = middle;
  }
  return fits;
}

Work WorkOf(const PlanRequest& r, const Cut& cut) {
  Work work;
  const int64_t whole = r.document_tokens / cut.piece_tokens, rest = r.document_tokens % cut.piece_tokens;
  AddPieces(r, static_cast<double>(whole), cut.piece_tokens, work);
  if (rest > 0) AddPieces(r, 1, rest, work);
  if (r.quoted_questions > 0) AddEvidence(r, work);
  return work;
}

int64_t DecodeDepth(const PlanRequest& r, const Cut& cut) {
  return cut.piece_tokens + r.question_tokens + r.answer_tokens / 2;
}

std::optional<PlanTimes> TimesOf(const PlanRequest& r, const Cut& cut) {
  if (!r.calibration || !IsUsable(*r.calibration)) return std::nullopt;
  const Calibration& c = *r.calibration;
  const Work work = WorkOf(r, cut);
  const double weight_bytes = static_cast<double>(r.footprint.decode_weight_bytes);
  const double prefill_s = work.linear_flops / c.linear_flops_per_s + work.attention_flops / c.attention_flops_per_s +
                           work.prefill_tokens * c.element_s_per_token;
  const double decode_s =
      work.decode_tokens * weight_bytes / c.weight_bytes_per_s + work.decode_kv_bytes / c.kv_bytes_per_s;
  const ModelShape& shape = r.footprint.shape;
  const double kv_bytes = static_cast<double>(shape.KvBytes(r.kv_format, static_cast<uint64_t>(DecodeDepth(r, cut))));
  const double token_s = 2 * shape.ActiveParameters() / c.linear_flops_per_s + c.element_s_per_token;
  const double evidence_s =
      work.evidence_tokens * token_s / kShortPassRate + work.evidence_passes * weight_bytes / c.weight_bytes_per_s;
  PlanTimes times{.prefill_s = Around(prefill_s),
                  .decode_s = Around(decode_s),
                  .evidence_s = Around(evidence_s),
                  .total_s = Around(prefill_s + decode_s + evidence_s)};
  times.prefill_tokens_per_s = RateOf(work.prefill_tokens, times.prefill_s);
  times.decode_tokens_per_s = RateOf(1, Around(weight_bytes / c.weight_bytes_per_s + kv_bytes / c.kv_bytes_per_s));
  return times;
}

}  // namespace attend
