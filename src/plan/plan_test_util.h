// Models that tests plan for, by their published shapes.
#pragma once

#include <cmath>

#include "plan/plan.h"

namespace attend {

inline ModelHeader Shape(uint32_t layers, uint32_t hidden, uint32_t mlp, uint32_t q_heads, uint32_t kv_heads,
                         uint32_t head_dim, uint32_t vocab, uint32_t max_seq_len, bool tied = false) {
  ModelHeader h;
  h.architecture = "llama";
  h.num_layers = layers;
  h.hidden_size = hidden;
  h.intermediate_size = mlp;
  h.num_q_heads = q_heads;
  h.num_kv_heads = kv_heads;
  h.head_dim = h.v_head_dim = h.rotary_dim = head_dim;
  h.vocab_size = vocab;
  h.max_seq_len = max_seq_len;
  h.tied_embeddings = tied;
  return h;
}

inline ModelHeader SmolLm2() {
  return Shape(30, 576, 1536, 9, 3, 64, 49152, 8192, true);
}
inline ModelHeader Llama8b() {
  return Shape(32, 4096, 14336, 32, 8, 128, 128256, 131072);
}
inline ModelHeader Mistral7b() {
  return Shape(32, 4096, 14336, 32, 8, 128, 32000, 32768);
}
inline ModelHeader LawFirm13b() {
  return Shape(40, 5120, 13824, 40, 8, 128, 32000, 131072);
}

inline Calibration TwoSmallCores() {
  Calibration c;
  c.cpu_name = "two small cores";
  c.isa = "avx2";
  c.threads = 2;
  c.linear_flops_per_s = 60e9;
  c.attention_flops_per_s = 40e9;
  c.weight_bytes_per_s = 10e9;
  c.kv_bytes_per_s = 8e9;
  c.element_s_per_token = 1e-4;
  return c;
}

// SmolLM2 with 100 MB of weights in 2 GiB: nothing but the document's length matters.
inline PlanRequest SmallRequest(int64_t document_tokens) {
  PlanRequest r;
  r.footprint = MakeFootprint(SmolLm2(), {});
  r.footprint.weights_bytes = r.footprint.decode_weight_bytes = 100'000'000;
  r.document_tokens = document_tokens;
  r.memory_limit_bytes = uint64_t{2} << 30;
  r.threads = 2;
  return r;
}

// The limit at which `r` has exactly the memory that a pass over `pass_tokens` needs.
inline void LimitMemoryTo(PlanRequest& r, int64_t pass_tokens) {
  r.reserve.bytes = 0;
  r.memory_limit_bytes = r.footprint.weights_bytes + KvAllocatedBytes(r.footprint.header, r.kv_dtype, pass_tokens) +
                         WorkspaceBytes(r.footprint.header, r.chunk_tokens, r.bf16_copy, r.threads) +
                         ProcessBytes(r.footprint.header);
}

}  // namespace attend
