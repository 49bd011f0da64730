#include "plan/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/budget.h"
#include "plan/number_text.h"

namespace attend {
namespace {

double AsDouble(uint64_t bytes) {
  return static_cast<double>(bytes);
}

// "10 full: 16 kv heads, 128 + 128; 52 window of 1024 tokens: ..."
std::string LayersText(const ModelShape& shape) {
  std::vector<std::pair<CacheDescriptor, int>> kinds;
  for (const LayerShape& layer : shape.layers) {
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first == layer.cache; });
    if (same == kinds.end()) {
      kinds.push_back({layer.cache, 1});
    } else {
      ++same->second;
    }
  }
  std::string text;
  for (const auto& [cache, count] : kinds) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", count, NameOf(cache.kind));
    if (cache.kind == CacheKind::kLinear) text += fmt::format(": a state of {} B", cache.state_bytes);
    if (cache.kind == CacheKind::kWindow) text += fmt::format(" of {} tokens", cache.window_tokens);
    if (cache.kind != CacheKind::kFull && cache.kind != CacheKind::kWindow) continue;
    text += fmt::format(": {} kv heads, {} + {}", cache.num_kv_heads, cache.k_head_dim,
                        cache.v_in_k ? 0 : cache.v_head_dim);
  }
  return text;
}

// Of the first layer that has them: of a hybrid some have none.
std::string QueryHeadsText(const ModelShape& shape) {
  for (const LayerShape& layer : shape.layers) {
    if (layer.num_q_heads == 0) continue;
    return fmt::format("{} q heads, {} + {}", layer.num_q_heads, layer.qk_head_dim, layer.v_head_dim);
  }
  return "no q heads";
}

const char* KvFormulaOf(Policy policy) {
  switch (policy) {
    case Policy::kLlamaCpp:
      return "sum over layers: kv_heads * (Dk + Dv) * bytes * cells; cells = tokens * sequences in 256s, of a window "
             "layer at most window * sequences + n_ubatch";
    case Policy::kVllm:
      return "sequences * sum over layers: kv_heads * (Dk + Dv) * bytes * tokens rounded up to pages, window layers as "
             "full ones";
    default:
      return "sequences * sum over layers: kv_heads * (Dk + Dv) * bytes * tokens kept, or the layer's state";
  }
}

const char* WorkspaceFormulaOf(Policy policy) {
  switch (policy) {
    case Policy::kLlamaCpp:
      return "estimate: n_ubatch * 4 * max(vocab + hidden, 2 (mlp + hidden)) + mask; without flash attention + heads * "
             "cells * n_ubatch * 4";
    case Policy::kVllm:
      return "estimate: max_num_batched_tokens * 2 * (2 hidden + 3 mlp) + 256 * vocab * 4";
    case Policy::kHfEager:
      return "estimate: tokens * 2 * (4 hidden + 3 mlp) + heads * tokens^2 * 6 of one layer; with --keep-maps + heads "
             "of all layers * tokens^2 * 2";
    default:
      return "estimate: tokens * 2 * (4 hidden + 3 mlp)";
  }
}

void ExplainOtherMemory(const PlanRequest& r, const Plan& p, std::vector<Formula>& out) {
  const ModelShape& shape = r.footprint.shape;
  const RuntimeSettings& s = r.runtime;
  out.push_back({"weights_bytes", "parameters * bits / 8, or the tensors as the file stores them",
                 fmt::format("{:.0f} parameters, {:.4g} bits as published", shape.Parameters(), shape.weight_bits),
                 AsDouble(p.memory.weights_bytes), "B"});
  out.push_back({"kv_bytes", KvFormulaOf(p.policy),
                 fmt::format("{}; {} tokens, {} at once", LayersText(shape), p.pass_tokens, s.concurrent),
                 AsDouble(p.memory.kv_bytes), "B"});
  if (p.policy == Policy::kFormula) return;
  out.push_back({"workspace_bytes", WorkspaceFormulaOf(p.policy),
                 fmt::format("hidden {}, mlp {}, vocab {}; n_ubatch {}, flash attention {}, max_num_batched_tokens {}",
                             shape.hidden_size, shape.mlp_width, shape.vocab_size, s.ubatch_tokens,
                             s.flash_attention ? "on" : "off", s.batched_tokens),
                 AsDouble(p.memory.workspace_bytes), "B"});
}

void ExplainOurMemory(const PlanRequest& r, const Plan& p, std::vector<Formula>& out) {
  const ActivationShape& a = r.footprint.activations;
  const PlanMemory& m = p.memory;
  out.push_back({"weights_bytes", "sum of tensors: ceil(outputs / 64) panels of 64 outputs, norms as float32",
                 "the file's tensor list", AsDouble(m.weights_bytes), "B"});
  out.push_back({"kv_bytes", "sequences * layers * ceil(tokens / 64) * 64 * kv_heads * (Dk + Dv, each to 16) * bytes",
                 fmt::format("{} at once, {} tokens = {} piece + {} question + {} answer", p.concurrent, p.pass_tokens,
                             p.piece_tokens, p.question_tokens, p.answer_tokens),
                 AsDouble(m.kv_bytes), "B"});
  out.push_back(
      {"workspace_bytes",
       r.runtime.quoted_questions > 0
           ? "4 * (chunk * activations + 32 * vocab) + bf16 copy + threads * 640 KiB + questions * a tile of 64 tokens"
           : "4 * (chunk * activations + vocab) + bf16 copy + threads * 640 KiB",
       fmt::format("chunk {} tokens, hidden {}, mlp {}, vocab {}, {} threads, bf16 copy {}", r.runtime.chunk_tokens,
                   a.hidden_size, a.intermediate_size, a.vocab_size, r.runtime.threads,
                   r.runtime.bf16_copy ? "yes" : "no"),
       AsDouble(m.workspace_bytes), "B"});
  out.push_back({"process_bytes",
                 r.holds_text ? "2 MiB + 128 * vocab, and of the text 4 MiB + 700 * document tokens: measured"
                              : "2 MiB + 128 * vocab: measured",
                 fmt::format("vocab {}, {} document tokens", a.vocab_size, p.document_tokens),
                 AsDouble(m.process_bytes), "B"});
}

void ExplainMemory(const PlanRequest& r, const Plan& p, std::vector<Formula>& out) {
  const PlanMemory& m = p.memory;
  out.push_back({"kv_bytes_per_token", "sum over layers: kv_heads * (Dk + Dv) * bytes",
                 fmt::format("{}; {}", LayersText(r.footprint.shape), NameOf(r.kv_format)),
                 AsDouble(p.kv_bytes_per_token), "B/token"});
  out.push_back({"kv_bytes_per_late_token", "the same of full layers alone: once every window is full",
                 LayersText(r.footprint.shape), AsDouble(p.kv_bytes_per_late_token), "B/token"});
  if (p.policy == Policy::kOurs) {
    ExplainOurMemory(r, p, out);
  } else {
    ExplainOtherMemory(r, p, out);
  }
  const std::string pass = fmt::format("{}; {} tokens", QueryHeadsText(r.footprint.shape), p.pass_tokens);
  out.push_back({"kq_buffer_bytes", "heads * tokens * n_ubatch * 4: what a runtime without flash attention adds",
                 fmt::format("{}, n_ubatch {}", pass, r.runtime.ubatch_tokens), AsDouble(p.kq_buffer_bytes), "B"});
  out.push_back({"attention_map_bytes", "sum over layers: heads * tokens^2 * 2: what keeping every map would add", pass,
                 AsDouble(p.attention_map_bytes), "B"});
  out.push_back({"total_bytes", "weights + kv + workspace + process", "those above", AsDouble(m.total_bytes), "B"});
  out.push_back({"usable_bytes", "limit - reserve", fmt::format("limit {}, reserve {}", m.limit_bytes, m.reserve_bytes),
                 AsDouble(m.usable_bytes), "B"});
  out.push_back({"fits_tokens", "min(context, most tokens whose cache leaves total <= usable) - question - answer",
                 fmt::format("context {}, {} B beside the cache", p.context_tokens,
                             SaturatedAdd(m.weights_bytes, m.workspace_bytes + m.process_bytes)),
                 static_cast<double>(p.fits_tokens), "tokens"});
}

void ExplainWork(const PlanRequest& r, const Plan& p, std::vector<Formula>& out) {
  const ModelShape& shape = r.footprint.shape;
  const std::string pieces = fmt::format("{} x ({} piece + {} question) tokens, the last piece with the rest of {}",
                                         p.num_pieces, p.piece_tokens, p.question_tokens, p.document_tokens);
  out.push_back(
      {"linear_flops",
       "2 * layer parameters * tokens + 2 * vocab * hidden a pass (head on the last token, no embedding lookup)",
       fmt::format("{:.0f} active layer parameters; {}", shape.ActiveParameters(), pieces), p.linear_flops, "FLOP"});
  out.push_back({"attention_flops", "sum over layers: 2 * (Dk + Dv) * Hq * visible pairs a pass; causal: T (T + 1) / 2",
                 fmt::format("{}; {}; {}", LayersText(shape), QueryHeadsText(shape), pieces), p.attention_flops,
                 "FLOP"});
  out.push_back({"unmasked_attention_flops",
                 "sum over layers: 2 * (Dk + Dv) * Hq * T^2: with the half that causality masks, as often published; "
                 "the plan computes with attention_flops",
                 pieces, p.unmasked_attention_flops, "FLOP"});
  out.push_back({"decode_weight_bytes", "all weights but an untied embedding table, of experts those used, a token",
                 p.policy == Policy::kOurs ? "the file's tensor list" : "the model's shape",
                 AsDouble(p.decode_weight_bytes), "B/token"});
  out.push_back({"decode_kv_bytes", "what is kept of so many tokens, all layers",
                 fmt::format("depth {} = prompt + half the answer", p.decode_depth_tokens), AsDouble(p.decode_kv_bytes),
                 "B/token"});
}

// A device that is planned for has no threads of ours.
std::string SourceText(const Calibration& c) {
  return c.threads > 0 ? fmt::format("measured on {}, {}, {} threads", c.cpu_name, c.isa, c.threads)
                       : fmt::format("from the figures of {}", c.cpu_name);
}

void ExplainTimes(const PlanRequest& r, const Plan& p, std::vector<Formula>& out) {
  const Calibration& c = *r.calibration;
  out.push_back({"prefill_s", "linear_flops / linear rate + attention_flops / attention rate + tokens * element time",
                 fmt::format("{:.4g} and {:.4g} FLOP/s, {:.4g} s/token; {}", c.linear_flops_per_s,
                             c.attention_flops_per_s, c.element_s_per_token, SourceText(c)),
                 p.times->prefill_s.expected, "s"});
  if (r.runtime.quoted_questions > 0) {
    out.push_back(
        {"evidence_s",
         fmt::format(
             "tokens * (2 * layer parameters / linear rate + element time) / {} + passes * weight bytes / weight "
             "rate; passages of {} tokens, a cue of {}, {} a question; passes = passages * (1 + questions)",
             kShortPassRate, kPassageTokens, kCueTokens, kAskedTokens),
         fmt::format("{} document tokens, {} questions", p.document_tokens, r.runtime.quoted_questions),
         p.times->evidence_s.expected, "s"});
  }
  out.push_back(
      {"decode_s",
       "steps * max(weight bytes / weight rate, tokens a step * 2 * active parameters / linear rate) + kv bytes of all "
       "steps / kv rate",
       r.runtime.quoted_questions > 0
           ? std::string("answers are quoted: nothing is generated")
           : fmt::format("{} pieces x {} rounds x {} answer tokens, {} documents a step, {:.4g} and {:.4g} B/s",
                         p.num_pieces, p.rounds, p.answer_tokens, p.concurrent, c.weight_bytes_per_s, c.kv_bytes_per_s),
       p.times->decode_s.expected, "s"});
  if (r.num_devices > 1) {
    out.push_back({"traffic_s",
                   "tokens * layers * 2 * hidden * 2 * 2 (N - 1) / N / link rate, in prefill_s and decode_s",
                   fmt::format("N {}, {:.4g} B/s", r.num_devices, r.link_bytes_per_s), p.times->traffic_s, "s"});
  }
  out.push_back({"total_s", "prefill_s + evidence_s + decode_s",
                 fmt::format("those above; low {:.2f} x, high {:.2f} x", c.spread.low, c.spread.high),
                 p.times->total_s.expected, "s"});
}

}  // namespace

std::vector<Formula> ExplainPlan(const PlanRequest& request, const Plan& plan) {
  std::vector<Formula> formulas;
  ExplainMemory(request, plan, formulas);
  ExplainWork(request, plan, formulas);
  if (plan.times) ExplainTimes(request, plan, formulas);
  return formulas;
}

}  // namespace attend
