#include "plan/model_footprint.h"

#include <algorithm>
#include <string_view>

#include "base/checked_math.h"
#include "formats/model_shapes.h"
#include "tensor/packed_bytes.h"

namespace attend {
namespace {

// Beside weights, cache and workspace, and beyond the 5 MiB of a process that has only started: code and libraries
// touched on the way, the document with its token ids, and the header, tokenizer and merges, 10 MiB for 49,152 entries
// (measured, g++ 12).
constexpr uint64_t kProcessBytes = uint64_t{7} << 20;
constexpr uint64_t kBytesPerVocabularyEntry = 256;

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

ModelFootprint MakeFootprint(const ModelHeader& header, std::span<const TensorEntry> tensors) {
  ModelFootprint footprint{.header = header};
  for (const TensorEntry& tensor : tensors) {
    if (!IsLoaded(header, tensor.name)) continue;
    const uint64_t bytes = LoadedBytes(tensor);
    footprint.weights_bytes = SaturatedAdd(footprint.weights_bytes, bytes);
    // Of an untied table one row a token is read: nothing beside the rest.
    if (IsTable(tensor.name) && !header.tied_embeddings) continue;
    footprint.decode_weight_bytes = SaturatedAdd(footprint.decode_weight_bytes, bytes);
  }
  return footprint;
}

uint64_t KvAllocatedBytes(const ModelHeader& header, KvFormat kv_format, int64_t tokens) {
  uint64_t tile_bytes = 0;
  for (const CacheDescriptor& layer : CacheDescriptors(header, kv_format))
    tile_bytes += layer.AllocatedBytes(kTileTokens);
  return SaturatedMultiply(tile_bytes, (static_cast<uint64_t>(tokens) + kTileTokens - 1) / kTileTokens);
}

uint64_t WorkspaceBytes(const ModelHeader& h, int64_t chunk_tokens, bool bf16_copy, int threads) {
  return PassWorkspaceBytes(ActivationShapeOf(h), std::max(chunk_tokens, kLogitRows), kLogitRows, bf16_copy, threads);
}

uint64_t ProcessBytes(const ModelHeader& header) {
  return kProcessBytes + kBytesPerVocabularyEntry * header.vocab_size;
}

}  // namespace attend
