#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/config_layers.h"
#include "formats/json.h"
#include "formats/layer_cache.h"
#include "formats/model_shape.h"

namespace attend {
namespace {

using nlohmann::json;

// The first of `keys` that is there; where none is, the first: its absence is what a message names.
std::string KeyOf(const ConfigFields& fields, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (fields.Find(key) != nullptr) return key;
  }
  return *keys.begin();
}

// Heads and their sizes, and what a layer of each kind holds of them.
struct AttentionSizes {
  uint32_t hidden_size = 0, num_q_heads = 0, num_kv_heads = 0, head_dim = 0, window_tokens = 0;
  uint32_t kv_rank = 0, q_rank = 0, rope_dim = 0, nope_dim = 0, v_dim = 0;  // latent attention; kv_rank 0: none
  uint32_t linear_k_heads = 0, linear_v_heads = 0, linear_k_dim = 0, linear_v_dim = 0, conv_width = 0;
  bool gates_attention = false;

  double StateParameters() const {
    const double k = 1.0 * linear_k_heads * linear_k_dim, v = 1.0 * linear_v_heads * linear_v_dim;
    return hidden_size * (2 * k + 3 * v + 2.0 * linear_v_heads) + (2 * k + v) * conv_width;
  }
  double LatentParameters() const {
    const double q = 1.0 * num_q_heads * (nope_dim + rope_dim);
    return (q_rank > 0 ? q_rank * (hidden_size + q) : hidden_size * q) + 1.0 * hidden_size * (kv_rank + rope_dim) +
           1.0 * kv_rank * num_q_heads * (nope_dim + v_dim) + 1.0 * num_q_heads * v_dim * hidden_size;
  }
  double Parameters() const {
    if (kv_rank > 0) return LatentParameters();
    return 1.0 * hidden_size * head_dim * (num_q_heads * (gates_attention ? 3.0 : 2.0) + 2.0 * num_kv_heads);
  }

  StateSizes State() const {
    return {.inner_size = linear_v_heads * linear_v_dim,
            .state_size = linear_k_dim,
            .num_groups = linear_k_heads,
            .conv_width = conv_width};
  }

  LayerShape Layer(CacheKind kind) const {
    LayerShape layer;
    layer.parameters = 2.0 * hidden_size;  // norms
    if (kind == CacheKind::kLinear) {
      layer.cache = StateCache(State());
      layer.parameters += StateParameters();
      return layer;
    }
    const bool is_latent = kv_rank > 0;
    layer.num_q_heads = num_q_heads;
    layer.qk_head_dim = is_latent ? nope_dim + rope_dim : head_dim;
    layer.v_head_dim = is_latent ? v_dim : head_dim;
    layer.cache.num_kv_heads = num_kv_heads;
    layer.cache.k_head_dim = layer.cache.v_head_dim = head_dim;
    if (is_latent) layer.cache = LatentCache(kv_rank, rope_dim);
    layer.cache.kind = kind;
    if (kind == CacheKind::kWindow) layer.cache.window_tokens = window_tokens;
    layer.parameters += Parameters();
    return layer;
  }
};

// The layer's matrices after attention: one block, or experts of which a token meets some.
struct MlpSizes {
  double hidden_size = 0, intermediate_size = 0, matrices = 3;
  double num_experts = 0, num_used = 0, expert_size = 0, shared_size = 0;
  uint32_t first_dense_layers = 0, expert_period = 1;

  bool HasExperts(size_t layer) const {
    return num_experts > 0 && layer >= first_dense_layers && (layer + 1) % expert_period == 0;
  }
  // Values of a token between the matrices.
  uint32_t Width(size_t layer) const {
    return static_cast<uint32_t>(HasExperts(layer) ? num_used * expert_size + shared_size : intermediate_size);
  }
  void AddTo(LayerShape& layer, size_t index) const {
    layer.active_parameters = layer.parameters - 2 * hidden_size;  // without the norms
    if (!HasExperts(index)) {
      layer.parameters += matrices * hidden_size * intermediate_size;
      layer.active_parameters += matrices * hidden_size * intermediate_size;
      return;
    }
    const double expert = matrices * hidden_size * expert_size;
    const double always = matrices * hidden_size * shared_size + hidden_size * num_experts;  // and the router
    layer.parameters += num_experts * expert + always;
    layer.active_parameters += num_used * expert + always;
  }
};

class ShapeReader {
 public:
  ShapeReader(const ConfigFields& fields, const HeaderSource& source) : fields_(fields), source_(source) {}

  Result<ModelShape> Read(const std::string& model_type) {
    shape_.architecture = model_type;
    const ModelFamily* family = FindFamily(model_type);
    if (family != nullptr) {
      family_ = *family;
    } else {
      Doubt("model_type " + Quote(model_type) + " is not known: every layer is charged a full cache");
    }
    ATTEND_ASSIGN_OR_RETURN(const uint32_t num_layers,
                            Number({"num_hidden_layers", "n_layer", "num_layers"}, kMaxLayers));
    ATTEND_RETURN_IF_ERROR(ReadAttention());
    ATTEND_RETURN_IF_ERROR(ReadLatent());
    ATTEND_ASSIGN_OR_RETURN(const std::vector<CacheKind> kinds, ReadLayerKinds(fields_, family_, num_layers));
    ATTEND_RETURN_IF_ERROR(ReadStates(kinds));
    ATTEND_RETURN_IF_ERROR(ReadWindow(kinds));
    ATTEND_RETURN_IF_ERROR(ReadMlp());
    ATTEND_RETURN_IF_ERROR(ReadTables());
    ATTEND_RETURN_IF_ERROR(ReadWeightBits());
    for (size_t i = 0; i < kinds.size(); ++i) {
      shape_.layers.push_back(attention_.Layer(kinds[i]));
      mlp_.AddTo(shape_.layers.back(), i);
      shape_.mlp_width = std::max(shape_.mlp_width, mlp_.Width(i));
    }
    return std::move(shape_);
  }

 private:
  Result<uint32_t> Number(std::initializer_list<const char*> keys, uint32_t max,
                          std::optional<uint32_t> fallback = std::nullopt) const {
    return fields_.Number(KeyOf(fields_, keys), max, fallback);
  }
  void Doubt(std::string sentence) { shape_.doubts.push_back(std::move(sentence)); }
  tl::unexpected<Error> Contradiction(const char* key, std::string expected, std::string found) const {
    return FormatError(source_.bad_value, source_.where, Subject("key", key), std::move(expected), std::move(found));
  }

  Result<void> ReadAttention() {
    AttentionSizes& a = attention_;
    a.gates_attention = family_.gates_attention;
    ATTEND_ASSIGN_OR_RETURN(a.hidden_size, Number({"hidden_size", "n_embd", "d_model"}, kMaxHiddenSize));
    ATTEND_ASSIGN_OR_RETURN(a.num_q_heads, Number({"num_attention_heads", "n_head"}, kMaxHeads));
    ATTEND_ASSIGN_OR_RETURN(a.num_kv_heads, Number({"num_key_value_heads", "multi_query_group_num"}, kMaxHeads, 0));
    ATTEND_ASSIGN_OR_RETURN(a.head_dim, Number({"head_dim", "kv_channels"}, kMaxHeadDim, 0));
    if (a.num_kv_heads == 0) {
      a.num_kv_heads = a.num_q_heads;
      if (family_.kv_heads_stated) {
        Doubt("no num_key_value_heads: charged as " + std::to_string(a.num_q_heads) +
              ", one a query head, which is many times the cache where heads share keys");
      }
    }
    if (a.num_kv_heads > a.num_q_heads || a.num_q_heads % a.num_kv_heads != 0) {
      return Contradiction("num_key_value_heads", "a divisor of num_attention_heads",
                           std::to_string(a.num_kv_heads) + " and " + std::to_string(a.num_q_heads));
    }
    if (a.head_dim > 0) return {};
    if (a.hidden_size % a.num_q_heads != 0) {
      return Contradiction("hidden_size", "a multiple of num_attention_heads where no head_dim is given",
                           std::to_string(a.hidden_size) + " and " + std::to_string(a.num_q_heads));
    }
    a.head_dim = a.hidden_size / a.num_q_heads;
    return {};
  }

  struct Wanted {
    uint32_t AttentionSizes::*size;
    const char* key;
    uint32_t most = kMaxHeadDim;
  };
  Result<void> ReadAll(std::initializer_list<Wanted> all) {
    for (const Wanted& w : all) {
      ATTEND_ASSIGN_OR_RETURN(attention_.*w.size, fields_.Number(w.key, w.most));
    }
    return {};
  }

  Result<void> ReadLatent() {
    AttentionSizes& a = attention_;
    ATTEND_ASSIGN_OR_RETURN(a.kv_rank, CountOrNone(fields_, "kv_lora_rank", kMaxHiddenSize));
    if (a.kv_rank == 0) return {};
    ATTEND_ASSIGN_OR_RETURN(a.q_rank, CountOrNone(fields_, "q_lora_rank", kMaxHiddenSize));
    return ReadAll({{&AttentionSizes::rope_dim, "qk_rope_head_dim"},
                    {&AttentionSizes::nope_dim, "qk_nope_head_dim"},
                    {&AttentionSizes::v_dim, "v_head_dim"}});
  }

  Result<void> ReadStates(const std::vector<CacheKind>& kinds) {
    if (std::find(kinds.begin(), kinds.end(), CacheKind::kLinear) == kinds.end()) return {};
    return ReadAll({{&AttentionSizes::linear_k_heads, "linear_num_key_heads", kMaxHeads},
                    {&AttentionSizes::linear_v_heads, "linear_num_value_heads", kMaxHeads},
                    {&AttentionSizes::linear_k_dim, "linear_key_head_dim"},
                    {&AttentionSizes::linear_v_dim, "linear_value_head_dim"},
                    {&AttentionSizes::conv_width, "linear_conv_kernel_dim"}});
  }

  Result<void> ReadWindow(const std::vector<CacheKind>& kinds) {
    if (std::find(kinds.begin(), kinds.end(), CacheKind::kWindow) == kinds.end()) return {};
    ATTEND_ASSIGN_OR_RETURN(attention_.window_tokens, fields_.Number("sliding_window", kMaxSeqLen));
    return {};
  }

  Result<void> ReadMlp() {
    MlpSizes& m = mlp_;
    m.hidden_size = attention_.hidden_size;
    m.matrices = family_.gated_mlp ? 3 : 2;
    const std::string key = KeyOf(fields_, {"intermediate_size", "n_inner", "ffn_hidden_size"});
    m.intermediate_size = 4.0 * m.hidden_size;  // what gpt2 means by an absent n_inner
    if (family_.gated_mlp || fields_.Find(key) != nullptr) {
      ATTEND_ASSIGN_OR_RETURN(m.intermediate_size, fields_.Number(key, kMaxIntermediateSize));
    }
    const std::string experts = KeyOf(fields_, {"num_local_experts", "n_routed_experts", "num_experts"});
    ATTEND_ASSIGN_OR_RETURN(m.num_experts, CountOrNone(fields_, experts, kMaxExperts));
    if (m.num_experts == 0) return {};
    ATTEND_ASSIGN_OR_RETURN(m.num_used, fields_.Number("num_experts_per_tok", kMaxExperts));
    if (m.num_used > m.num_experts) {
      return Contradiction("num_experts_per_tok", "at most " + experts,
                           fmt::format("{} and {}", m.num_used, m.num_experts));
    }
    const uint32_t size = static_cast<uint32_t>(m.intermediate_size);
    ATTEND_ASSIGN_OR_RETURN(m.expert_size, fields_.Number("moe_intermediate_size", kMaxIntermediateSize, size));
    ATTEND_ASSIGN_OR_RETURN(const uint32_t num_shared, CountOrNone(fields_, "n_shared_experts", kMaxExperts));
    ATTEND_ASSIGN_OR_RETURN(const uint32_t shared_size,
                            CountOrNone(fields_, "shared_expert_intermediate_size", kMaxIntermediateSize));
    m.shared_size = num_shared * m.expert_size + shared_size;
    ATTEND_ASSIGN_OR_RETURN(m.first_dense_layers, CountOrNone(fields_, "first_k_dense_replace", kMaxLayers));
    ATTEND_ASSIGN_OR_RETURN(m.expert_period, fields_.Number("decoder_sparse_step", kMaxLayers, 1));
    return {};
  }

  Result<void> ReadTables() {
    shape_.hidden_size = attention_.hidden_size;
    ATTEND_ASSIGN_OR_RETURN(shape_.vocab_size, Number({"vocab_size", "padded_vocab_size"}, kMaxVocabSize));
    ATTEND_RETURN_IF_ERROR(ReadTrainedTokens());
    const double table = 1.0 * shape_.vocab_size * shape_.hidden_size;
    const double positions = family_.learned_positions ? 1.0 * shape_.trained_tokens * shape_.hidden_size : 0;
    ATTEND_ASSIGN_OR_RETURN(const bool tied, fields_.Flag("tie_word_embeddings", TiesByDefault()));
    shape_.table_parameters = table + positions;
    shape_.head_parameters = tied ? 0 : table;
    return {};
  }
  bool TiesByDefault() const { return !family_.gated_mlp || shape_.architecture.starts_with("gemma"); }

  Result<void> ReadTrainedTokens() {
    ATTEND_ASSIGN_OR_RETURN(shape_.trained_tokens,
                            Number({"max_position_embeddings", "n_positions", "seq_length"}, kMaxSeqLen));
    const std::string key = KeyOf(fields_, {"rope_parameters", "rope_scaling"});
    const json* rope = fields_.Find(key);
    if (rope == nullptr) return {};
    if (!rope->is_object()) return fields_.Wrong(key, "an object", rope);
    const ConfigFields scaling(*rope, source_);
    ATTEND_ASSIGN_OR_RETURN(const std::string kind, scaling.Text(KeyOf(scaling, {"rope_type", "type"}), "default"));
    if (kind == "llama3") return {};  // its factor stretches frequencies, not the length
    ATTEND_ASSIGN_OR_RETURN(const uint32_t original, scaling.Number("original_max_position_embeddings", kMaxSeqLen, 0));
    ATTEND_ASSIGN_OR_RETURN(const double factor, scaling.Real("factor", kRopeFactorRange, 1));
    shape_.trained_tokens = TrainedTokens(shape_.trained_tokens, original, factor);
    return {};
  }

  // What a checkpoint that was published quantised says of itself; each group has a 16-bit scale and a zero point.
  Result<void> ReadWeightBits() {
    const json* quantised = fields_.Find("quantization_config");
    if (quantised == nullptr) return {};
    if (!quantised->is_object()) return fields_.Wrong("quantization_config", "an object", quantised);
    const ConfigFields q(*quantised, source_);
    ATTEND_ASSIGN_OR_RETURN(const std::string method, q.Text("quant_method", ""));
    ATTEND_ASSIGN_OR_RETURN(const bool in_4_bits, q.Flag("load_in_4bit", false));
    ATTEND_ASSIGN_OR_RETURN(const bool in_8_bits, q.Flag("load_in_8bit", false));
    ATTEND_ASSIGN_OR_RETURN(uint32_t bits, q.Number("bits", 32, in_4_bits ? 4 : in_8_bits ? 8 : 0));
    const json* group = q.Find("group_size");
    ATTEND_ASSIGN_OR_RETURN(const uint32_t group_size,
                            group != nullptr && *group == -1 ? 0 : q.Number("group_size", kMaxHiddenSize, 0));
    if (method == "fp8") bits = 8;
    if (bits > 0) {
      shape_.weight_bits = group_size > 0 ? bits + (16.0 + bits) / group_size : bits;
      Doubt(fmt::format("quantization_config: every parameter is charged {:.4g} bits", shape_.weight_bits));
    } else {
      Doubt("quantization_config " + Quote(method) + " says no bits: every parameter is charged 16 bits");
    }
    return {};
  }

  static constexpr uint32_t kMaxExperts = 4096;

  const ConfigFields& fields_;
  const HeaderSource& source_;
  ModelFamily family_ = {};
  ModelShape shape_;
  AttentionSizes attention_;
  MlpSizes mlp_;
};

}  // namespace

Result<ModelShape> ReadModelShape(std::string_view config_json, std::string name) {
  ATTEND_ASSIGN_OR_RETURN(const json config, ParseJson(config_json, name));
  return ShapeOfConfig(config, std::move(name));
}

Result<ModelShape> ShapeOfConfig(const json& config, std::string name) {
  HeaderSource source;
  source.bad_value = ErrorCode::kConfigBad;
  source.where = std::move(name);
  if (!config.is_object()) {
    return FormatError(ErrorCode::kConfigBad, source.where, "the configuration", "an object", config.type_name());
  }
  const ConfigFields outer(config, source);
  const json* inner = outer.Find("text_config");
  if (inner != nullptr && !inner->is_object()) return outer.Wrong("text_config", "an object", inner);
  const ConfigFields fields(inner != nullptr ? *inner : config, source);
  ATTEND_ASSIGN_OR_RETURN(const std::string outer_type, outer.Text("model_type"));
  ATTEND_ASSIGN_OR_RETURN(const std::string model_type, fields.Text("model_type", outer_type));
  return ShapeReader(fields, source).Read(model_type);
}

}  // namespace attend
