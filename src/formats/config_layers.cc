#include "formats/config_layers.h"

namespace attend {
namespace {

using Window = ModelFamily::Window;

constexpr ModelFamily kFamilies[] = {
    {.model_type = "llama", .gguf_name = "llama"},
    {.model_type = "smollm3", .gguf_name = "smollm3"},
    {.model_type = "granite", .gguf_name = "granite"},
    {.model_type = "olmo2", .gguf_name = "olmo2"},
    {.model_type = "glm"},
    {.model_type = "glm4", .gguf_name = "glm4"},
    {.model_type = "chatglm", .gguf_name = "chatglm"},
    // Their layers are told apart by their tensors.
    {.gguf_name = "mamba"},
    {.gguf_name = "mamba2"},
    {.gguf_name = "jamba"},
    {.gguf_name = "falcon-h1"},
    {.model_type = "gemma", .gguf_name = "gemma"},
    {.model_type = "mistral", .window = Window::kEveryLayer},
    {.model_type = "mixtral", .window = Window::kEveryLayer},
    {.model_type = "phi3", .gguf_name = "phi3", .window = Window::kEveryLayer},
    {.model_type = "qwen2", .gguf_name = "qwen2", .window = Window::kFromSomeLayer},
    {.model_type = "qwen2_moe", .gguf_name = "qwen2moe", .window = Window::kFromSomeLayer},
    {.model_type = "qwen3", .gguf_name = "qwen3", .window = Window::kFromSomeLayer},
    {.model_type = "qwen3_moe", .gguf_name = "qwen3moe", .window = Window::kFromSomeLayer},
    {.model_type = "qwen3_next", .gguf_name = "qwen3next", .state_period = 4, .gates_attention = true},
    {.model_type = "qwen3_5", .gguf_name = "qwen35", .state_period = 4, .gates_attention = true},
    {.model_type = "qwen3_5_text", .state_period = 4, .gates_attention = true},
    {.model_type = "qwen3_5_moe", .gguf_name = "qwen35moe", .state_period = 4, .gates_attention = true},
    {.model_type = "qwen3_5_moe_text", .state_period = 4, .gates_attention = true},
    {.model_type = "gemma2", .gguf_name = "gemma2", .window = Window::kAllButEveryNth, .full_period = 2},
    {.model_type = "gemma3", .gguf_name = "gemma3", .window = Window::kAllButEveryNth, .full_period = 6},
    {.model_type = "gemma3_text", .window = Window::kAllButEveryNth, .full_period = 6},
    {.gguf_name = "gemma3n", .window = Window::kAllButEveryNth, .full_period = 5},
    {.model_type = "gpt_oss", .gguf_name = "gpt-oss", .window = Window::kAllButEveryNth, .full_period = 2},
    {.model_type = "deepseek_v2", .gguf_name = "deepseek2"},
    {.model_type = "deepseek_v3"},
    {.model_type = "kimi_k2"},
    {.model_type = "gpt2",
     .gguf_name = "gpt2",
     .gated_mlp = false,
     .kv_heads_stated = false,
     .learned_positions = true},
    {.model_type = "bert",
     .gguf_name = "bert",
     .gated_mlp = false,
     .kv_heads_stated = false,
     .generates = false,
     .learned_positions = true},
};

Result<CacheKind> KindNamed(const ConfigFields& fields, const nlohmann::json& name) {
  constexpr const char* kKey = "layer_types";
  if (!name.is_string()) return fields.Wrong(kKey, "an array of texts", &name);
  const std::string& text = name.get_ref<const std::string&>();
  if (text == "full_attention" || text == "attention") return CacheKind::kFull;
  if (text == "sliding_attention") return CacheKind::kWindow;
  if (text == "linear_attention") return CacheKind::kLinear;
  return fields.Unsupported(kKey, "'full_attention', 'sliding_attention' or 'linear_attention'", Quote(text));
}

Result<std::vector<CacheKind>> NamedKinds(const ConfigFields& fields, const nlohmann::json& names,
                                          uint32_t num_layers) {
  if (!names.is_array() || names.size() != num_layers) {
    return FormatError(ErrorCode::kConfigBad, fields.where(), "key 'layer_types'",
                       "an array of " + std::to_string(num_layers) + ", one a layer",
                       names.is_array() ? std::to_string(names.size()) : std::string(names.type_name()));
  }
  std::vector<CacheKind> kinds;
  for (const nlohmann::json& name : names) {
    ATTEND_ASSIGN_OR_RETURN(const CacheKind kind, KindNamed(fields, name));
    kinds.push_back(kind);
  }
  return kinds;
}

Result<std::vector<CacheKind>> WindowKinds(const ConfigFields& fields, const ModelFamily& family, uint32_t num_layers) {
  std::vector<CacheKind> kinds(num_layers, CacheKind::kFull);
  ATTEND_ASSIGN_OR_RETURN(const uint32_t window, CountOrNone(fields, "sliding_window", kMaxSeqLen));
  if (window == 0) return kinds;
  for (const char* key : {"sliding_window_pattern", "_sliding_window_pattern"}) {
    if (fields.Find(key) == nullptr) continue;
    ATTEND_ASSIGN_OR_RETURN(const uint32_t period, fields.Number(key, kMaxLayers));
    return PeriodicKinds(num_layers, period, CacheKind::kWindow);
  }
  switch (family.window) {
    case Window::kNone:
      return kinds;
    case Window::kEveryLayer:
      return std::vector<CacheKind>(num_layers, CacheKind::kWindow);
    case Window::kAllButEveryNth:
      return PeriodicKinds(num_layers, family.full_period, CacheKind::kWindow);
    case Window::kFromSomeLayer: {
      ATTEND_ASSIGN_OR_RETURN(const bool is_used, fields.Flag("use_sliding_window", false));
      constexpr uint32_t kFirstByDefault = 28;  // what Qwen's configuration means by an absent key
      uint32_t first = kFirstByDefault;
      if (fields.Find("max_window_layers") != nullptr) {
        ATTEND_ASSIGN_OR_RETURN(first, CountOrNone(fields, "max_window_layers", kMaxLayers));
      }
      for (size_t i = first; is_used && i < num_layers; ++i) kinds[i] = CacheKind::kWindow;
    }
  }
  return kinds;
}

}  // namespace

const ModelFamily* FindFamily(std::string_view model_type) {
  for (const ModelFamily& family : kFamilies) {
    if (!model_type.empty() && family.model_type == model_type) return &family;
  }
  return nullptr;
}

const ModelFamily* FindGgufFamily(std::string_view architecture) {
  for (const ModelFamily& family : kFamilies) {
    if (!architecture.empty() && family.gguf_name == architecture) return &family;
  }
  return nullptr;
}

std::vector<CacheKind> PeriodicKinds(uint32_t num_layers, uint32_t period, CacheKind other) {
  std::vector<CacheKind> kinds(num_layers, other);
  for (size_t i = period - 1; i < num_layers; i += period) kinds[i] = CacheKind::kFull;
  return kinds;
}

Result<uint32_t> CountOrNone(const ConfigFields& fields, const std::string& key, uint32_t max) {
  const nlohmann::json* value = fields.Find(key);
  if (value != nullptr && value->is_number_integer() && *value == 0) return 0;
  return fields.Number(key, max, 0);
}

Result<std::vector<CacheKind>> ReadLayerKinds(const ConfigFields& fields, const ModelFamily& family,
                                              uint32_t num_layers) {
  if (!family.generates) return std::vector<CacheKind>(num_layers, CacheKind::kNone);
  if (const nlohmann::json* names = fields.Find("layer_types")) return NamedKinds(fields, *names, num_layers);
  constexpr const char* kInterval = "full_attention_interval";
  ATTEND_ASSIGN_OR_RETURN(uint32_t interval, CountOrNone(fields, kInterval, kMaxLayers));
  if (fields.Find(kInterval) == nullptr) interval = family.state_period;
  if (interval > 0) return PeriodicKinds(num_layers, interval, CacheKind::kLinear);
  return WindowKinds(fields, family, num_layers);
}

}  // namespace attend
