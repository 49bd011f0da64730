#include "formats/model_shapes.h"

#include <algorithm>

namespace attend {

ModelShape ShapeOf(const ModelHeader& h) {
  ModelShape shape{.name = h.name, .architecture = h.architecture};
  shape.hidden_size = h.hidden_size;
  shape.vocab_size = h.vocab_size;
  shape.mlp_width = h.intermediate_size;
  shape.trained_tokens = h.max_seq_len;
  shape.table_parameters = shape.OutputParameters();
  shape.head_parameters = h.tied_embeddings ? 0 : shape.OutputParameters();
  const double matrices = LayerParams(h) / std::max(1u, h.num_layers);
  for (const CacheDescriptor& cache : CacheDescriptors(h, {})) {
    shape.layers.push_back({.cache = cache,
                            .num_q_heads = h.num_q_heads,
                            .qk_head_dim = h.head_dim,
                            .v_head_dim = h.v_head_dim,
                            .parameters = matrices + 2.0 * h.hidden_size,
                            .active_parameters = matrices});
  }
  return shape;
}

std::vector<CacheDescriptor> CacheDescriptors(const ModelHeader& h, KvFormat kv_format) {
  return std::vector<CacheDescriptor>(h.num_layers, {.kind = CacheKind::kFull,
                                                     .num_kv_heads = h.num_kv_heads,
                                                     .k_head_dim = h.head_dim,
                                                     .v_head_dim = h.v_head_dim,
                                                     .format = kv_format,
                                                     .v_in_k = false,
                                                     .window_tokens = 0});
}

ActivationShape ActivationShapeOf(const ModelHeader& h) {
  return {.hidden_size = h.hidden_size,
          .intermediate_size = h.intermediate_size,
          .vocab_size = h.vocab_size,
          .num_q_heads = h.num_q_heads,
          .num_kv_heads = h.num_kv_heads,
          .head_dim = h.head_dim,
          .v_head_dim = h.v_head_dim};
}

double LayerParams(const ModelHeader& h) {
  const double hidden = h.hidden_size, mlp = h.intermediate_size;
  const double q = 1.0 * h.num_q_heads * h.head_dim, k = 1.0 * h.num_kv_heads * h.head_dim;
  const double v = 1.0 * h.num_kv_heads * h.v_head_dim, z = 1.0 * h.num_q_heads * h.v_head_dim;
  return h.num_layers * hidden * (q + k + v + z + 3 * mlp);
}

double LinearFlopsPerToken(const ModelHeader& header) {
  return 2 * LayerParams(header);
}

double CausalPairs(int64_t depth, int64_t tokens) {
  // tokens * depth + tokens (tokens + 1) / 2, halved before multiplying: exact while the result is below 2^53.
  const int64_t even = tokens % 2 == 0 ? tokens / 2 : (tokens + 1) / 2, other = tokens % 2 == 0 ? tokens + 1 : tokens;
  return static_cast<double>(tokens) * static_cast<double>(depth) +
         static_cast<double>(even) * static_cast<double>(other);
}

}  // namespace attend
