#include "measure/model_work.h"

#include "model/forward.h"

namespace attend {

double LinearFlopsPerToken(const ModelHeader& h) {
  const double hidden = h.hidden_size, mlp = h.intermediate_size;
  const double q = 1.0 * h.num_q_heads * h.head_dim, k = 1.0 * h.num_kv_heads * h.head_dim;
  const double v = 1.0 * h.num_kv_heads * h.v_head_dim, z = 1.0 * h.num_q_heads * h.v_head_dim;
  return 2.0 * h.num_layers * hidden * (q + k + v + z + 3 * mlp);
}

double AttentionFlops(const ModelHeader& h, int64_t tokens, int64_t depth) {
  const double t = static_cast<double>(tokens);
  const double pairs = t * static_cast<double>(depth) + t * (t + 1) / 2;
  return 2.0 * (h.head_dim + h.v_head_dim) * h.num_q_heads * h.num_layers * pairs;
}

double PromptFlops(const ModelHeader& h, int64_t tokens, int64_t depth) {
  const double head = 2.0 * h.hidden_size * h.vocab_size;
  return LinearFlopsPerToken(h) * static_cast<double>(tokens) + AttentionFlops(h, tokens, depth) + head;
}

double WeightBytesRead(const ModelWeights& weights) {
  const uint64_t unread = weights.vocabulary ? weights.embedding.size_bytes() : 0;
  return static_cast<double>(weights.size_bytes() - unread);
}

double CacheBytesPerToken(const ModelHeader& h, DType kv_dtype) {
  double bytes = 0;
  for (const CacheDescriptor& layer : CacheDescriptors(h, kv_dtype))
    bytes += static_cast<double>(layer.ExactBytesPerToken());
  return bytes;
}

double GenerationBytes(const ModelHeader& h, const ModelWeights& weights, DType kv_dtype, int64_t tokens,
                       int64_t depth) {
  const double t = static_cast<double>(tokens);
  const double cached = t * static_cast<double>(depth) + t * (t + 1) / 2;  // token i reads depth + i + 1 cached tokens
  return t * WeightBytesRead(weights) + cached * CacheBytesPerToken(h, kv_dtype);
}

}  // namespace attend
