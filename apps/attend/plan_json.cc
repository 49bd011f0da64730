#include <nlohmann/json.hpp>

#include "attend/plan_output.h"

namespace attend::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kExactWhole = 0x1p53;  // doubles below hold every whole number

Json EstimateJson(const Estimate& e) {
  return {{"low", e.low}, {"expected", e.expected}, {"high", e.high}};
}

// A whole number where a double holds it exactly.
Json WholeJson(double value) {
  return value < kExactWhole ? Json(static_cast<int64_t>(value)) : Json(value);
}

Json TimesJson(const Plan& p) {
  if (!p.times) return nullptr;
  return {{"prefill_s", EstimateJson(p.times->prefill_s)},
          {"decode_s", EstimateJson(p.times->decode_s)},
          {"evidence_s", EstimateJson(p.times->evidence_s)},
          {"total_s", EstimateJson(p.times->total_s)},
          {"anew_s", EstimateJson(p.times->anew_s)},
          {"traffic_s", p.times->traffic_s},
          {"prefill_tokens_per_s", EstimateJson(p.times->prefill_tokens_per_s)},
          {"decode_tokens_per_s", EstimateJson(p.times->decode_tokens_per_s)}};
}

Json MemoryJson(const PlanMemory& m) {
  return {{"weights_bytes", m.weights_bytes}, {"kv_bytes", m.kv_bytes},        {"workspace_bytes", m.workspace_bytes},
          {"process_bytes", m.process_bytes}, {"total_bytes", m.total_bytes},  {"limit_bytes", m.limit_bytes},
          {"reserve_bytes", m.reserve_bytes}, {"usable_bytes", m.usable_bytes}};
}

Json OrNull(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json CapacityJson(const Capacity& c) {
  return {{"most_at_once", c.most_at_once},
          {"documents_per_hour", OrNull(c.documents_per_hour)},
          {"price_per_document", OrNull(c.price_per_document)},
          {"utilisation", OrNull(c.utilisation)},
          {"first_token_p95_s", OrNull(c.first_token_p95_s)}};
}

Json ChangesJson(const Plan& p) {
  Json changes = Json::array();
  for (const Change& c : p.changes) {
    changes.push_back({{"what", c.what},
                       {"price", c.price},
                       {"gives", NameOf(c.gives)},
                       {"num_pieces", c.num_pieces},
                       {"piece_tokens", c.piece_tokens},
                       {"inside_reserve", c.inside_reserve},
                       {"total_bytes", c.total_bytes},
                       {"total_s", OrNull(c.total_s)},
                       {"nll_rise", OrNull(c.nll_rise)},
                       {"review_minutes", c.review_minutes}});
  }
  return changes;
}

Json FormulasJson(const Plan& p) {
  Json formulas = Json::array();
  for (const Formula& f : p.formulas) {
    const Json result = f.unit == "s" ? Json(f.result) : WholeJson(f.result);
    formulas.push_back(
        {{"name", f.name}, {"formula", f.formula}, {"inputs", f.inputs}, {"result", result}, {"unit", f.unit}});
  }
  return formulas;
}

}  // namespace

Json PlanJson(const PlanReport& report) {
  const Plan& p = report.plan;
  Json json = {{"schema", "attend.plan"},
               {"version", 1},
               {"verdict", NameOf(p.verdict)},
               {"limit", NameOf(p.limit)},
               {"policy", NameOf(p.policy)},
               {"reason", p.reason},
               {"doubts", p.doubts},
               {"model", report.model->name},
               {"device", report.device},
               {"document_tokens", p.document_tokens},
               {"question_tokens", p.question_tokens},
               {"answer_tokens", p.answer_tokens},
               {"rounds", p.rounds},
               {"concurrent", p.concurrent},
               {"num_devices", p.num_devices},
               {"num_pieces", p.num_pieces},
               {"piece_tokens", p.piece_tokens},
               {"overlap_tokens", p.overlap_tokens},
               {"pass_tokens", p.pass_tokens},
               {"context_tokens", p.context_tokens},
               {"trained_tokens", p.trained_tokens},
               {"fits_tokens", p.fits_tokens},
               {"in_time_tokens", p.in_time_tokens},
               {"kv_bytes", p.memory.kv_bytes},
               {"kv_bytes_per_token", p.kv_bytes_per_token},
               {"unchunked_bytes", p.unchunked_bytes},
               {"kv_bytes_per_late_token", p.kv_bytes_per_late_token},
               {"kq_buffer_bytes", p.kq_buffer_bytes},
               {"attention_map_bytes", p.attention_map_bytes},
               {"shortfall_bytes", p.shortfall_bytes},
               {"memory", MemoryJson(p.memory)},
               {"linear_flops", WholeJson(p.linear_flops)},
               {"attention_flops", WholeJson(p.attention_flops)},
               {"unmasked_attention_flops", WholeJson(p.unmasked_attention_flops)},
               {"decode_weight_bytes", p.decode_weight_bytes},
               {"decode_kv_bytes", p.decode_kv_bytes},
               {"decode_depth_tokens", p.decode_depth_tokens},
               {"times", TimesJson(p)},
               {"review_minutes", p.review_minutes},
               {"capacity", report.capacity ? CapacityJson(*report.capacity) : Json(nullptr)},
               {"changes", ChangesJson(p)}};
  if (report.explain) json["formulas"] = FormulasJson(p);
  return json;
}

}  // namespace attend::cli
