#include "plan/runtime_memory.h"

#include <algorithm>

namespace attend {
namespace {

constexpr uint64_t kCellMultiple = 256;   // llama.cpp rounds its cells up to this
constexpr uint64_t kVllmSequences = 256;  // whose logits vLLM's trial run samples

uint64_t RoundUp(uint64_t value, uint64_t multiple) {
  return value > UINT64_MAX - multiple ? value : (value + multiple - 1) / multiple * multiple;
}

uint64_t Product(std::initializer_list<uint64_t> factors) {
  uint64_t product = 1;
  for (uint64_t factor : factors) product = SaturatedMultiply(product, factor);
  return product;
}

bool HoldsKeys(const CacheDescriptor& cache) {
  return cache.kind == CacheKind::kFull || cache.kind == CacheKind::kWindow;
}

uint64_t MostQueryHeads(const ModelShape& shape) {
  uint64_t most = 0;
  for (const LayerShape& layer : shape.layers) most = std::max<uint64_t>(most, layer.num_q_heads);
  return most;
}

// Bytes of `tokens(layer)` tokens in each layer, and the states of `concurrent` sequences.
template <class Tokens>
uint64_t SumOverLayers(const ModelShape& shape, KvFormat kv_format, uint64_t concurrent, const Tokens& tokens) {
  uint64_t bytes = 0;
  for (const LayerShape& layer : shape.layers) {
    CacheDescriptor cache = layer.cache;
    cache.format = kv_format;
    if (HoldsKeys(cache)) bytes = SaturatedAdd(bytes, SaturatedMultiply(cache.ExactBytesPerToken(), tokens(cache)));
    bytes = SaturatedAdd(bytes, SaturatedMultiply(cache.state_bytes, concurrent));
  }
  return bytes;
}

RuntimeMemory Ours(const ModelFootprint& f, KvFormat kv_format, int64_t tokens, const RuntimeSettings& s) {
  const uint64_t kv = KvAllocatedBytes(f.shape, kv_format, tokens);
  const int64_t logit_rows = s.quoted_questions > 0 ? kLogitRows : 1;
  // A question that is scored writes to a fork's last tile.
  const uint64_t forks =
      SaturatedMultiply(KvAllocatedBytes(f.shape, kv_format, kTileTokens), static_cast<uint64_t>(s.quoted_questions));
  RuntimeMemory m{.kv_bytes = SaturatedMultiply(kv, static_cast<uint64_t>(s.concurrent)),
                  .workspace_bytes = WorkspaceBytes(f, s.chunk_tokens, logit_rows, s.bf16_copy, s.threads),
                  .process_bytes = ProcessBytes(f)};
  m.workspace_bytes = SaturatedAdd(m.workspace_bytes, forks);
  return m;
}

RuntimeMemory LlamaCpp(const ModelShape& shape, KvFormat kv_format, uint64_t tokens, const RuntimeSettings& s) {
  const uint64_t sequences = static_cast<uint64_t>(s.concurrent), batch = static_cast<uint64_t>(s.ubatch_tokens);
  const uint64_t cells = RoundUp(SaturatedMultiply(tokens, sequences), kCellMultiple);
  RuntimeMemory m;
  m.kv_bytes = SumOverLayers(shape, kv_format, sequences, [&](const CacheDescriptor& cache) {
    if (cache.kind == CacheKind::kFull) return cells;
    const uint64_t in_window = SaturatedAdd(SaturatedMultiply(cache.window_tokens, sequences), batch);
    return std::min(cells, RoundUp(in_window, kCellMultiple));
  });
  const uint64_t hidden = shape.hidden_size;
  const uint64_t a_token = std::max<uint64_t>(shape.vocab_size + hidden, 2 * (uint64_t{shape.mlp_width} + hidden));
  const uint64_t mask = Product({cells, batch, s.flash_attention ? 2u : 4u});
  m.workspace_bytes = SaturatedAdd(Product({a_token, batch, 4}), mask);
  if (!s.flash_attention) {
    m.workspace_bytes = SaturatedAdd(m.workspace_bytes, KqBufferBytes(shape, cells, s.ubatch_tokens));
  }
  return m;
}

RuntimeMemory Vllm(const ModelShape& shape, KvFormat kv_format, uint64_t tokens, const RuntimeSettings& s) {
  const uint64_t sequences = static_cast<uint64_t>(s.concurrent), batch = static_cast<uint64_t>(s.batched_tokens);
  const uint64_t held = SaturatedMultiply(RoundUp(tokens, static_cast<uint64_t>(s.page_tokens)), sequences);
  RuntimeMemory m;
  m.kv_bytes = SumOverLayers(shape, kv_format, sequences, [&](const CacheDescriptor&) { return held; });
  const uint64_t a_token = 2 * (uint64_t{shape.hidden_size} * 2 + uint64_t{shape.mlp_width} * 3);
  m.workspace_bytes = SaturatedAdd(Product({a_token, batch}), Product({kVllmSequences, shape.vocab_size, 4}));
  return m;
}

RuntimeMemory Transformers(const ModelFootprint& f, KvFormat kv_format, uint64_t tokens, const RuntimeSettings& s) {
  const ModelShape& shape = f.shape;
  const uint64_t sequences = static_cast<uint64_t>(s.concurrent);
  RuntimeMemory m{.kv_bytes = SaturatedMultiply(shape.KvBytes(kv_format, tokens), sequences),
                  .workspace_bytes = SaturatedMultiply(UnchunkedActivationBytes(shape, tokens), sequences)};
  if (f.policy != Policy::kHfEager) return m;
  const uint64_t scores = Product({MostQueryHeads(shape), tokens, tokens, 2 + 4, sequences});
  m.workspace_bytes = SaturatedAdd(m.workspace_bytes, scores);
  if (s.keeps_maps) {
    m.workspace_bytes = SaturatedAdd(m.workspace_bytes, SaturatedMultiply(AttentionMapBytes(shape, tokens), sequences));
  }
  return m;
}

}  // namespace

RuntimeMemory RuntimeMemoryOf(const ModelFootprint& f, KvFormat kv_format, int64_t tokens, const RuntimeSettings& s) {
  const uint64_t count = static_cast<uint64_t>(tokens);
  switch (f.policy) {
    case Policy::kOurs:
      return Ours(f, kv_format, tokens, s);
    case Policy::kFormula:
      break;
    case Policy::kLlamaCpp:
      return LlamaCpp(f.shape, kv_format, count, s);
    case Policy::kVllm:
      return Vllm(f.shape, kv_format, count, s);
    case Policy::kHfEager:
    case Policy::kHfSdpa:
      return Transformers(f, kv_format, count, s);
  }
  return {.kv_bytes = SaturatedMultiply(f.shape.KvBytes(kv_format, count), static_cast<uint64_t>(s.concurrent))};
}

uint64_t UnchunkedActivationBytes(const ModelShape& shape, uint64_t tokens) {
  return SaturatedMultiply(2 * (uint64_t{shape.hidden_size} * 4 + uint64_t{shape.mlp_width} * 3), tokens);
}

uint64_t KqBufferBytes(const ModelShape& shape, uint64_t cells, int64_t ubatch_tokens) {
  return Product({MostQueryHeads(shape), cells, static_cast<uint64_t>(ubatch_tokens), 4});
}

uint64_t AttentionMapBytes(const ModelShape& shape, uint64_t tokens) {
  uint64_t heads = 0;
  for (const LayerShape& layer : shape.layers) heads += layer.num_q_heads;
  return Product({heads, tokens, tokens, 2});
}

}  // namespace attend
