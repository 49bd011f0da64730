#include "plan/budget.h"

#include <algorithm>
#include <cmath>

#include "formats/model_shapes.h"

namespace attend {
namespace {

// Neither bytes nor seconds fall with tokens: halves what is between a length that fits and one that does not.
// Precondition: `fits` does.
template <class Fit>
int64_t LargestThat(const Fit& fit, int64_t fits) {
  int64_t beyond = 4 * kMaxPlanTokens;  // beyond any request
  while (fits + 1 < beyond) {
    const int64_t middle = fits + (beyond - fits) / 2;
    (fit(middle) ? fits : beyond) = middle;
  }
  return fits;
}

Estimate Around(double expected, const Spread& spread) {
  return {expected * spread.low, expected, expected * spread.high};
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

// Adds `count` pieces of `piece_tokens` each, of every document, with so many rounds over each.
void AddPieces(const PlanRequest& r, double count, int64_t piece_tokens, int64_t num_rounds, Work& work) {
  const int64_t prompt_tokens = piece_tokens + r.question_tokens;
  const ModelShape& shape = r.footprint.shape;
  const double passes = count * static_cast<double>(r.runtime.concurrent);
  work.linear_flops += passes * shape.LinearFlops(prompt_tokens);
  work.attention_flops += passes * shape.AttentionFlops(prompt_tokens, 0);
  work.prefill_tokens += passes * static_cast<double>(prompt_tokens);
  if (r.runtime.quoted_questions > 0) return;
  const double rounds = static_cast<double>(num_rounds), later = rounds - 1;
  work.linear_flops += passes * later * shape.LinearFlops(r.question_tokens);
  work.attention_flops += passes * later * shape.AttentionFlops(r.question_tokens, piece_tokens);
  work.prefill_tokens += passes * later * static_cast<double>(r.question_tokens);
  work.decode_steps += count * rounds * static_cast<double>(r.answer_tokens);
  // Answer token i reads prompt + i keys: on average half the answer more than the prompt.
  work.decode_kv_bytes += passes * rounds * shape.KvReadBytes(r.kv_format, prompt_tokens, r.answer_tokens);
}

void AddEvidence(const PlanRequest& r, Work& work) {
  const double questions = static_cast<double>(r.runtime.quoted_questions);
  const double passages = std::ceil(static_cast<double>(r.document_tokens) / kPassageTokens);
  const double documents = static_cast<double>(r.runtime.concurrent);
  const double tokens = static_cast<double>(r.document_tokens) + passages * (kCueTokens + kAskedTokens * questions);
  work.evidence_tokens = documents * tokens;
  work.evidence_passes = documents * passages * (1 + questions);
}

Work WorkOfRounds(const PlanRequest& r, const Cut& cut, int64_t num_rounds) {
  Work work;
  const int64_t whole = r.document_tokens / cut.piece_tokens, rest = r.document_tokens % cut.piece_tokens;
  AddPieces(r, static_cast<double>(whole), cut.piece_tokens, num_rounds, work);
  if (rest > 0) AddPieces(r, 1, rest, num_rounds, work);
  if (r.runtime.quoted_questions > 0) AddEvidence(r, work);
  return work;
}

// Weights that one step of `concurrent` documents reads: of experts more, the more tokens choose among them.
double StepWeightBytes(const PlanRequest& r) {
  const ModelFootprint& f = r.footprint;
  double active = 0, all = 0;
  for (const LayerShape& layer : f.shape.layers) {
    active += layer.active_parameters;
    all += layer.parameters;
  }
  const double others = static_cast<double>(f.weights_bytes - std::min(f.weights_bytes, f.decode_weight_bytes));
  if (r.runtime.concurrent == 1 || all <= active) return static_cast<double>(f.decode_weight_bytes);
  const double met = 1 - std::pow(1 - active / all, static_cast<double>(r.runtime.concurrent - 1));
  return static_cast<double>(f.decode_weight_bytes) + std::min(others, (all - active) * f.shape.weight_bits / 8) * met;
}

// Seconds of one step without its cache: the weights are read, or multiplied where many tokens share them.
double StepWeightSeconds(const PlanRequest& r, const Calibration& c) {
  const double read_s = StepWeightBytes(r) / c.weight_bytes_per_s;
  if (r.runtime.concurrent == 1) return read_s;
  const double tokens = static_cast<double>(r.runtime.concurrent);
  return std::max(read_s, 2 * r.footprint.shape.ActiveParameters() * tokens / c.linear_flops_per_s);
}

double EvidenceSeconds(const PlanRequest& r, const Calibration& c, const Work& work) {
  const double token_s = 2 * r.footprint.shape.ActiveParameters() / c.linear_flops_per_s + c.element_s_per_token;
  const double weight_bytes = static_cast<double>(r.footprint.decode_weight_bytes);
  return work.evidence_tokens * token_s / kShortPassRate + work.evidence_passes * weight_bytes / c.weight_bytes_per_s;
}

double TrafficSeconds(const PlanRequest& r, double tokens) {
  return r.link_bytes_per_s > 0 ? tokens * TrafficBytesPerToken(r) / r.link_bytes_per_s : 0;
}

double PrefillSeconds(const PlanRequest& r, const Calibration& c, const Work& work) {
  return work.linear_flops / c.linear_flops_per_s + work.attention_flops / c.attention_flops_per_s +
         work.prefill_tokens * c.element_s_per_token + TrafficSeconds(r, work.prefill_tokens);
}

double DecodeSeconds(const PlanRequest& r, const Calibration& c, const Work& work) {
  const double tokens = work.decode_steps * static_cast<double>(r.runtime.concurrent);
  return work.decode_steps * StepWeightSeconds(r, c) + work.decode_kv_bytes / c.kv_bytes_per_s +
         TrafficSeconds(r, tokens);
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
  const RuntimeMemory runtime = RuntimeMemoryOf(r.footprint, r.kv_format, pass_tokens, r.runtime);
  PlanMemory m{.weights_bytes = r.footprint.weights_bytes,
               .kv_bytes = runtime.kv_bytes,
               .workspace_bytes = runtime.workspace_bytes,
               .process_bytes = runtime.process_bytes,
               .limit_bytes = r.memory_limit_bytes,
               .reserve_bytes = ReserveBytes(r)};
  if (r.holds_text && r.footprint.policy == Policy::kOurs) {
    m.process_bytes = SaturatedAdd(m.process_bytes, TextBytes(r.document_tokens));
  }
  const uint64_t beside = SaturatedAdd(m.workspace_bytes, m.process_bytes);
  m.total_bytes = SaturatedAdd(SaturatedAdd(m.weights_bytes, m.kv_bytes), beside);
  m.usable_bytes = m.limit_bytes - m.reserve_bytes;
  return m;
}

int64_t LargestPassTokens(const PlanRequest& r) {
  const auto fit = [&](int64_t tokens) {
    const PlanMemory m = MemoryOf(r, tokens);
    return m.total_bytes <= m.usable_bytes;
  };
  return fit(0) ? LargestThat(fit, 0) : 0;
}

Work WorkOf(const PlanRequest& r, const Cut& cut) {
  return WorkOfRounds(r, cut, r.rounds);
}

int64_t DecodeDepth(const PlanRequest& r, const Cut& cut) {
  return cut.piece_tokens + r.question_tokens + r.answer_tokens / 2;
}

double TrafficBytesPerToken(const PlanRequest& r) {
  const double devices = static_cast<double>(r.num_devices),
               layers = static_cast<double>(r.footprint.shape.layers.size());
  return layers * 2 * r.footprint.shape.hidden_size * 2 * (2 * (devices - 1) / devices);
}

std::optional<PlanTimes> TimesOf(const PlanRequest& r, const Cut& cut) {
  if (!r.calibration || !IsUsable(*r.calibration)) return std::nullopt;
  const Calibration& c = *r.calibration;
  const Work work = WorkOf(r, cut);
  const double prefill_s = PrefillSeconds(r, c, work), decode_s = DecodeSeconds(r, c, work);
  const double evidence_s = EvidenceSeconds(r, c, work);
  const auto around = [&](double expected) { return Around(expected, c.spread); };
  PlanTimes times{.prefill_s = around(prefill_s),
                  .decode_s = around(decode_s),
                  .evidence_s = around(evidence_s),
                  .total_s = around(prefill_s + decode_s + evidence_s)};
  times.anew_s = times.total_s;
  if (r.rounds > 1) {
    const Work once = WorkOfRounds(r, cut, 1);
    const double once_s = PrefillSeconds(r, c, once) + DecodeSeconds(r, c, once) + evidence_s;
    times.anew_s = around(static_cast<double>(r.rounds) * once_s);
  }
  const double concurrent = static_cast<double>(r.runtime.concurrent);
  times.traffic_s = TrafficSeconds(r, work.prefill_tokens + work.decode_steps * concurrent);
  times.prefill_tokens_per_s = RateOf(work.prefill_tokens, times.prefill_s);
  const ModelShape& shape = r.footprint.shape;
  const double kv_bytes = static_cast<double>(shape.KvBytes(r.kv_format, static_cast<uint64_t>(DecodeDepth(r, cut))));
  const double step_s =
      StepWeightSeconds(r, c) + concurrent * kv_bytes / c.kv_bytes_per_s + TrafficSeconds(r, concurrent);
  times.decode_tokens_per_s = RateOf(concurrent, around(step_s));
  return times;
}

int64_t LargestInTime(const PlanRequest& r) {
  PlanRequest changed = r;
  const auto fit = [&](int64_t tokens) {
    changed.document_tokens = tokens;
    const auto times = TimesOf(changed, {1, tokens});
    return times && times->total_s.expected <= *r.time_limit_s;
  };
  if (!r.time_limit_s || !fit(1)) return 0;
  return LargestThat(fit, 1);
}

}  // namespace attend
