#include "formats/model_shape.h"

#include <algorithm>

#include "base/checked_math.h"
#include "formats/model_shapes.h"

namespace attend {
namespace {

CacheDescriptor WithFormat(CacheDescriptor cache, KvFormat format) {
  cache.format = format;
  return cache;
}

double FlopsOfAPair(const LayerShape& layer) {
  return 2.0 * (double{1} * layer.qk_head_dim + layer.v_head_dim) * layer.num_q_heads;
}

double PairsOf(const LayerShape& layer, int64_t depth, int64_t tokens) {
  if (layer.cache.kind == CacheKind::kNone) return 1.0 * tokens * (depth + tokens);  // sees the whole text
  if (layer.cache.window_tokens > 0) return WindowPairs(depth, tokens, layer.cache.window_tokens);
  return CausalPairs(depth, tokens);
}

}  // namespace

double WindowPairs(int64_t depth, int64_t tokens, int64_t window) {
  // Of the causal pairs, without those that lie beyond the window: a triangle less the part of it before `depth`.
  const auto beyond = [window](int64_t length) { return CausalPairs(0, std::max<int64_t>(0, length - window)); };
  return CausalPairs(depth, tokens) - (beyond(depth + tokens) - beyond(depth));
}

double ModelShape::Parameters() const {
  if (stated_parameters > 0) return stated_parameters;
  double sum = table_parameters + head_parameters;
  for (const LayerShape& layer : layers) sum += layer.parameters;
  return sum;
}

double ModelShape::ActiveParameters() const {
  double sum = 0;
  for (const LayerShape& layer : layers) sum += layer.active_parameters;
  return sum;
}

double ModelShape::OutputParameters() const {
  return 1.0 * vocab_size * hidden_size;
}

uint64_t ModelShape::KvBytes(KvFormat format, uint64_t tokens) const {
  uint64_t bytes = 0;
  for (const LayerShape& layer : layers) {
    const CacheDescriptor cache = WithFormat(layer.cache, format);
    const auto kept = CheckedMultiply(cache.ExactBytesPerToken(), cache.KeptTokens(tokens));
    bytes = CheckedAdd(bytes, kept.value_or(UINT64_MAX)).value_or(UINT64_MAX);
    bytes = CheckedAdd(bytes, cache.state_bytes).value_or(UINT64_MAX);
  }
  return bytes;
}

uint64_t ModelShape::KvBytesPerToken(KvFormat format) const {
  uint64_t bytes = 0;
  for (const LayerShape& layer : layers) bytes += WithFormat(layer.cache, format).ExactBytesPerToken();
  return bytes;
}

uint64_t ModelShape::KvBytesPerLateToken(KvFormat format) const {
  uint64_t bytes = 0;
  for (const LayerShape& layer : layers) {
    if (layer.cache.kind == CacheKind::kFull) bytes += WithFormat(layer.cache, format).ExactBytesPerToken();
  }
  return bytes;
}

double ModelShape::KvReadBytes(KvFormat format, int64_t depth, int64_t tokens) const {
  double bytes = 0;
  for (const LayerShape& layer : layers) {
    const CacheDescriptor cache = WithFormat(layer.cache, format);
    bytes += static_cast<double>(cache.ReadBytesPerToken()) * PairsOf(layer, depth, tokens);
    bytes += static_cast<double>(cache.state_bytes) * static_cast<double>(tokens);
  }
  return bytes;
}

double ModelShape::AttentionFlops(int64_t tokens, int64_t depth) const {
  double flops = 0;
  for (const LayerShape& layer : layers) flops += FlopsOfAPair(layer) * PairsOf(layer, depth, tokens);
  return flops;
}

double ModelShape::UnmaskedAttentionFlops(int64_t tokens) const {
  double flops = 0;
  for (const LayerShape& layer : layers) flops += FlopsOfAPair(layer);
  return flops * static_cast<double>(tokens) * static_cast<double>(tokens);
}

double ModelShape::LinearFlops(int64_t tokens) const {
  return 2 * ActiveParameters() * static_cast<double>(tokens) + 2 * OutputParameters();
}

}  // namespace attend
