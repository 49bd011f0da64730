#include "formats/gguf_attention.h"

#include <algorithm>

namespace attend {

Result<void> GgufAttention::Read(uint32_t num_layers, const ModelFamily* family) {
  ATTEND_ASSIGN_OR_RETURN(num_q_heads_, fields_.PerLayer(Key("attention.head_count"), num_layers, kMaxHeads));
  const auto has_heads = [this] { return *std::max_element(num_q_heads_.begin(), num_q_heads_.end()) > 0; };
  num_kv_heads_ = num_q_heads_;
  if (has_heads()) ATTEND_RETURN_IF_ERROR(ReadKvHeads(num_layers, family));
  if (!has_heads()) return {};
  ATTEND_RETURN_IF_ERROR(ReadHeadDims());
  return ReadLatent(family);
}

Result<void> GgufAttention::ReadKvHeads(uint32_t num_layers, const ModelFamily* family) {
  const std::string kv_key = Key("attention.head_count_kv");
  if (!file_.Has(kv_key)) {
    if (family == nullptr || family->kv_heads_stated) {
      doubts_.push_back("no " + kv_key +
                        ": charged as one a query head, which is many times the cache where heads share keys");
    }
    return {};
  }
  ATTEND_ASSIGN_OR_RETURN(num_kv_heads_, fields_.PerLayer(kv_key, num_layers, kMaxHeads));
  for (size_t i = 0; i < num_layers; ++i) {
    uint32_t &q = num_q_heads_[i], &kv = num_kv_heads_[i];
    if (q == 0 || kv == 0) {
      q = kv = 0;
    } else if (kv > q || q % kv != 0) {
      return fields_.BadValue(kv_key, "a divisor of attention.head_count",
                              std::to_string(kv) + " and " + std::to_string(q));
    }
  }
  return {};
}

Result<void> GgufAttention::ReadHeadDims() {
  const std::string k_key = Key("attention.key_length");
  if (file_.Has(k_key)) {
    ATTEND_ASSIGN_OR_RETURN(full_.k, fields_.Number(k_key, kMaxHeadDim));
  } else {
    const uint32_t num_heads =
        *std::find_if(num_q_heads_.begin(), num_q_heads_.end(), [](uint32_t n) { return n > 0; });
    full_.k = hidden_size_ / num_heads;
    if (hidden_size_ % num_heads != 0 || full_.k > kMaxHeadDim) {
      return fields_.BadValue(Key("embedding_length"),
                              "a multiple of attention.head_count, up to " + std::to_string(kMaxHeadDim) +
                                  " times, where no attention.key_length is given",
                              std::to_string(hidden_size_) + " and " + std::to_string(num_heads));
    }
  }
  ATTEND_ASSIGN_OR_RETURN(full_.v, fields_.Number(Key("attention.value_length"), kMaxHeadDim, full_.k));
  ATTEND_ASSIGN_OR_RETURN(window_.k, fields_.Number(Key("attention.key_length_swa"), kMaxHeadDim, full_.k));
  ATTEND_ASSIGN_OR_RETURN(window_.v, fields_.Number(Key("attention.value_length_swa"), kMaxHeadDim, full_.v));
  return {};
}

// Where the file states latent head sizes or its family caches latents: others have the rank and keep whole heads.
Result<void> GgufAttention::ReadLatent(const ModelFamily* family) {
  const std::string k_key = Key("attention.key_length_mla");
  ATTEND_ASSIGN_OR_RETURN(const uint32_t rank, fields_.Count(Key("attention.kv_lora_rank"), kMaxHiddenSize));
  if (rank == 0 || (family == nullptr && !file_.Has(k_key))) return {};
  kv_rank_ = rank;
  ATTEND_ASSIGN_OR_RETURN(rope_dim_, fields_.Number(Key("rope.dimension_count"), kMaxHeadDim));
  if (!file_.Has(k_key)) {
    doubts_.push_back("no " + k_key + ": a file from before the latent cache, of which some runtimes keep all heads");
  }
  ATTEND_ASSIGN_OR_RETURN(full_.k, fields_.Number(k_key, kMaxHeadDim, full_.k));
  ATTEND_ASSIGN_OR_RETURN(full_.v, fields_.Number(Key("attention.value_length_mla"), kMaxHeadDim, full_.v));
  return {};
}

Result<void> GgufAttention::ReadState() {
  if (state_.inner_size > 0) return {};
  ATTEND_ASSIGN_OR_RETURN(state_.state_size, fields_.Number(Key("ssm.state_size"), kMaxHiddenSize));
  ATTEND_ASSIGN_OR_RETURN(state_.num_groups, fields_.Count(Key("ssm.group_count"), kMaxHeads));
  ATTEND_ASSIGN_OR_RETURN(state_.conv_width, fields_.Number(Key("ssm.conv_kernel"), kMaxHeadDim));
  ATTEND_ASSIGN_OR_RETURN(state_.inner_size, fields_.Number(Key("ssm.inner_size"), kMaxIntermediateSize));
  return {};
}

Result<LayerShape> GgufAttention::Layer(uint32_t index, const GgufLayerKinds& kinds) {
  LayerShape layer;
  const CacheKind kind = kinds.kinds[index];
  const bool has_attention = num_q_heads_[index] > 0 && kind != CacheKind::kLinear;
  if (has_attention) {
    const HeadDims dims = kind == CacheKind::kWindow ? window_ : full_;
    layer.num_q_heads = num_q_heads_[index];
    layer.qk_head_dim = layer.cache.k_head_dim = dims.k;
    layer.v_head_dim = layer.cache.v_head_dim = dims.v;
    layer.cache.num_kv_heads = num_kv_heads_[index];
    if (kv_rank_ > 0) layer.cache = LatentCache(kv_rank_, rope_dim_);
    if (kind == CacheKind::kWindow) layer.cache.window_tokens = kinds.window_tokens;
  }
  layer.cache.kind = has_attention ? kind : CacheKind::kNone;
  if (!kinds.has_state[index]) return layer;
  ATTEND_RETURN_IF_ERROR(ReadState());
  layer.cache.state_bytes = state_.Bytes();
  if (!has_attention) layer.cache.kind = CacheKind::kLinear;
  return layer;
}

}  // namespace attend
