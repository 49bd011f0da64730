#include "measure/model_work.h"

#include "formats/model_shapes.h"

namespace attend {

double PromptFlops(const ModelHeader& h, int64_t tokens, int64_t depth) {
  return ShapeOf(h).LinearFlops(tokens) + ShapeOf(h).AttentionFlops(tokens, depth);
}

double WeightBytesRead(const ModelWeights& weights) {
  const uint64_t unread = weights.vocabulary ? weights.embedding.size_bytes() : 0;
  return static_cast<double>(weights.size_bytes() - unread);
}

double GenerationBytes(const ModelHeader& h, const ModelWeights& weights, KvFormat kv_format, int64_t tokens,
                       int64_t depth) {
  // Token i reads depth + i + 1 cached tokens.
  return static_cast<double>(tokens) * WeightBytesRead(weights) +
         CausalPairs(depth, tokens) * static_cast<double>(ShapeOf(h).KvBytesPerToken(kv_format));
}

}  // namespace attend
