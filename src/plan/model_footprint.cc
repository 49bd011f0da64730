#include "plan/model_footprint.h"

#include <algorithm>
#include <string_view>

#include "base/checked_math.h"
#include "tensor/packed_bytes.h"

namespace attend {
namespace {

// Resident before a weight is loaded: 10 MiB of code and libraries, and 10 MiB for the header, tokenizer and merges of
// 49,152 entries (measured, g++ 12). Both are rounded up: a long document's text and token ids come on top.
constexpr uint64_t kProcessBytes = uint64_t{12} << 20;
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

double LayerParams(const ModelHeader& h) {
  const double q_rows = double{1} * h.num_q_heads * h.head_dim, k_rows = double{1} * h.num_kv_heads * h.head_dim;
  const double v_rows = double{1} * h.num_kv_heads * h.v_head_dim, z_columns = double{1} * h.num_q_heads * h.v_head_dim;
  return h.num_layers *
         (h.hidden_size * (q_rows + k_rows + v_rows + z_columns) + 3.0 * h.hidden_size * h.intermediate_size);
}

}  // namespace

uint64_t SaturatedAdd(uint64_t a, uint64_t b) {
  return CheckedAdd(a, b).value_or(UINT64_MAX);
}
uint64_t SaturatedMultiply(uint64_t a, uint64_t b) {
  return CheckedMultiply(a, b).value_or(UINT64_MAX);
}

ModelFootprint MakeFootprint(const ModelHeader& header, std::span<const TensorEntry> tensors) {
  ModelFootprint footprint{.header = header,
                           .layer_params = LayerParams(header),
                           .head_params = double{1} * header.vocab_size * header.hidden_size};
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

std::vector<CacheDescriptor> CacheLayers(const ModelHeader& h, DType kv_dtype) {
  return std::vector<CacheDescriptor>(h.num_layers, {.kind = CacheKind::kFull,
                                                     .num_kv_heads = h.num_kv_heads,
                                                     .k_head_dim = h.head_dim,
                                                     .v_head_dim = h.v_head_dim,
                                                     .k_dtype = kv_dtype,
                                                     .v_dtype = kv_dtype});
}

uint64_t KvBytesPerToken(const ModelHeader& header, DType kv_dtype) {
  uint64_t bytes = 0;
  for (const CacheDescriptor& layer : CacheLayers(header, kv_dtype)) bytes += layer.ExactBytesPerToken();
  return bytes;
}

uint64_t KvAllocatedBytes(const ModelHeader& header, DType kv_dtype, int64_t tokens) {
  uint64_t tile_bytes = 0;
  for (const CacheDescriptor& layer : CacheLayers(header, kv_dtype)) tile_bytes += layer.AllocatedBytes(kTileTokens);
  return SaturatedMultiply(tile_bytes, (static_cast<uint64_t>(tokens) + kTileTokens - 1) / kTileTokens);
}

uint64_t WorkspaceBytes(const ModelHeader& h, int64_t chunk_tokens, bool bf16_copy, int threads) {
  const ActivationShape shape = {.hidden_size = h.hidden_size,
                                 .intermediate_size = h.intermediate_size,
                                 .vocab_size = h.vocab_size,
                                 .num_q_heads = h.num_q_heads,
                                 .num_kv_heads = h.num_kv_heads,
                                 .head_dim = h.head_dim,
                                 .v_head_dim = h.v_head_dim};
  return PassWorkspaceBytes(shape, std::max(chunk_tokens, kLogitRows), kLogitRows, bf16_copy, threads);
}

uint64_t ProcessBytes(const ModelHeader& header) {
  return kProcessBytes + kBytesPerVocabularyEntry * header.vocab_size;
}

double CausalPairs(int64_t first, int64_t count) {
  // count * first + count (count + 1) / 2, halved before multiplying: exact while the result is below 2^53.
  const int64_t even = count % 2 == 0 ? count / 2 : (count + 1) / 2, other = count % 2 == 0 ? count + 1 : count;
  return static_cast<double>(count) * static_cast<double>(first) +
         static_cast<double>(even) * static_cast<double>(other);
}

double PrefillAttentionFlops(const ModelHeader& h, int64_t first, int64_t count) {
  const double per_pair = 2.0 * (double{1} * h.head_dim + h.v_head_dim) * h.num_q_heads * h.num_layers;
  return per_pair * CausalPairs(first, count);
}

double PrefillLinearFlops(const ModelFootprint& footprint, int64_t tokens, bool with_head) {
  return 2 * footprint.layer_params * static_cast<double>(tokens) + (with_head ? 2 * footprint.head_params : 0);
}

}  // namespace attend
