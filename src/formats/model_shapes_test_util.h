// Headers of well-known models, by their published shapes.
#pragma once

#include "formats/model_header.h"

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

}  // namespace attend
