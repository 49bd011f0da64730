#include "plan/model_footprint.h"

#include <algorithm>
#include <string_view>

#include "base/checked_math.h"
#include "formats/model_shapes.h"
#include "tensor/packed_bytes.h"

namespace attend {
namespace {

// Beside weights, cache and workspace, and beyond the 5 MiB of a process that has only started: code and libraries
// touched on the way, and the header, tokenizer and merges, 6 MiB for 49,152 entries (measured, g++ 12).
constexpr uint64_t kProcessBytes = uint64_t{2} << 20;
constexpr uint64_t kBytesPerVocabularyEntry = 128;

// A document that is read: its text, ids and offsets, and what the answers looked at (measured).
constexpr uint64_t kTextBytes = uint64_t{4} << 20;
constexpr uint64_t kTextBytesPerToken = 700;

bool IsTable(std::string_view name) {
  return name == "token_embd.weight" || name == "model.embed_tokens.weight";
}
bool IsHead(std::string_view name) {
  return name == "output.weight" || name == "lm_head.weight";
}

// Rope frequencies are computed anew and a tied model needs no second copy of its table.
bool IsLoaded(const ModelHeader& header, std::string_view name) {
  if (name == "rope_freqs.weight" || name.ends_with(".rotary_emb.inv_freq")) return false;
  return !(header.tied_embeddings && IsHead(name));
}

uint64_t LoadedBytes(const TensorEntry& tensor) {
  if (tensor.shape.size() == 2) return PackedMatrixBytes(tensor.dtype, tensor.shape[0], tensor.shape[1]);
  return tensor.shape.empty() ? 0 : SaturatedMultiply(tensor.shape[0], sizeof(float));
}

}  // namespace

uint64_t SaturatedAdd(uint64_t a, uint64_t b) {
  return CheckedAdd(a, b).value_or(UINT64_MAX);
}
uint64_t SaturatedMultiply(uint64_t a, uint64_t b) {
  return CheckedMultiply(a, b).value_or(UINT64_MAX);
}

ModelFootprint MakeFootprint(const ModelHeader& header, std::span<const TensorEntry> tensors, Policy policy) {
  ModelFootprint footprint{.shape = ShapeOf(header), .activations = ActivationShapeOf(header), .policy = policy};
  for (const TensorEntry& tensor : tensors) {
    if (!IsLoaded(header, tensor.name)) continue;
    const uint64_t bytes = policy == Policy::kOurs ? LoadedBytes(tensor) : tensor.bytes;
    footprint.weights_bytes = SaturatedAdd(footprint.weights_bytes, bytes);
    // Of an untied table one row a token is read: nothing beside the rest.
    if (IsTable(tensor.name) && !header.tied_embeddings) continue;
    footprint.decode_weight_bytes = SaturatedAdd(footprint.decode_weight_bytes, bytes);
  }
  return footprint;
}

ModelFootprint MakeFootprint(ModelShape shape, Policy policy) {
  const double bytes = shape.weight_bits / 8, active = shape.ActiveParameters() + shape.OutputParameters();
  ModelFootprint footprint{.policy = policy,
                           .weights_bytes = static_cast<uint64_t>(shape.Parameters() * bytes),
                           .decode_weight_bytes = static_cast<uint64_t>(active * bytes)};
  footprint.decode_weight_bytes = std::min(footprint.decode_weight_bytes, footprint.weights_bytes);
  footprint.shape = std::move(shape);
  return footprint;
}

ModelFootprint Shard(ModelFootprint f, int64_t num_devices) {
  const auto share = [&](auto count) {
    return static_cast<decltype(count)>((static_cast<uint64_t>(count) + static_cast<uint64_t>(num_devices) - 1) /
                                        static_cast<uint64_t>(num_devices));
  };
  const double part = 1.0 / static_cast<double>(num_devices);
  f.weights_bytes = share(f.weights_bytes);
  f.decode_weight_bytes = share(f.decode_weight_bytes);
  f.shape.vocab_size = share(f.shape.vocab_size);
  f.shape.mlp_width = share(f.shape.mlp_width);
  for (double* sum : {&f.shape.table_parameters, &f.shape.head_parameters, &f.shape.stated_parameters}) *sum *= part;
  for (LayerShape& layer : f.shape.layers) {
    layer.cache.num_kv_heads = share(layer.cache.num_kv_heads);
    layer.cache.state_bytes = share(layer.cache.state_bytes);
    layer.num_q_heads = share(layer.num_q_heads);
    layer.parameters *= part;
    layer.active_parameters *= part;
  }
  return f;
}

uint64_t KvAllocatedBytes(const ModelShape& shape, KvFormat kv_format, int64_t tokens) {
  uint64_t tile_bytes = 0;
  for (const LayerShape& layer : shape.layers) {
    CacheDescriptor cache = layer.cache;
    cache.format = kv_format;
    tile_bytes += cache.AllocatedBytes(kTileTokens);
  }
  return SaturatedMultiply(tile_bytes, (static_cast<uint64_t>(tokens) + kTileTokens - 1) / kTileTokens);
}

uint64_t WorkspaceBytes(const ModelFootprint& f, int64_t chunk_tokens, int64_t logit_rows, bool bf16_copy,
                        int threads) {
  return PassWorkspaceBytes(f.activations, std::max(chunk_tokens, logit_rows), logit_rows, bf16_copy, threads);
}

uint64_t ProcessBytes(const ModelFootprint& f) {
  return kProcessBytes + kBytesPerVocabularyEntry * f.shape.vocab_size;
}

uint64_t TextBytes(int64_t document_tokens) {
  return SaturatedAdd(kTextBytes, SaturatedMultiply(kTextBytesPerToken, static_cast<uint64_t>(document_tokens)));
}

}  // namespace attend
