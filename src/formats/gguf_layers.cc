#include "formats/gguf_layers.h"

#include <algorithm>
#include <utility>

#include "formats/gguf_weights.h"

namespace attend {
namespace {

using Window = ModelFamily::Window;

class KindReader {
 public:
  KindReader(const GgufFile& file, const GgufFields& fields, const std::string& prefix, const ModelFamily& family,
             uint32_t num_layers)
      : file_(file), fields_(fields), prefix_(prefix), family_(family), num_layers_(num_layers) {}

  Result<GgufLayerKinds> Read() {
    out_.has_state.resize(num_layers_);
    ATTEND_ASSIGN_OR_RETURN(const bool is_causal, file_.BoolOr(Key("attention.causal"), family_.generates));
    ATTEND_ASSIGN_OR_RETURN(const bool has_states, ReadStates());
    if (!is_causal) {
      out_.kinds.assign(num_layers_, CacheKind::kNone);
    } else if (!has_states) {
      ATTEND_RETURN_IF_ERROR(ReadWindows());
    }
    const std::string shared = Key("attention.shared_kv_layers");
    ATTEND_ASSIGN_OR_RETURN(out_.num_shared, fields_.Count(shared, kMaxLayers));
    if (out_.num_shared < num_layers_) return std::move(out_);
    return fields_.BadValue(shared, "fewer than the " + std::to_string(num_layers_) + " layers",
                            std::to_string(out_.num_shared));
  }

 private:
  std::string Key(const char* name) const { return prefix_ + name; }

  // Whether states stand for the keys of some layers, which decides the kinds. Otherwise a layer may still have both.
  Result<bool> ReadStates() {
    const std::string named = Key("attention.recurrent_layers"), interval_key = Key("full_attention_interval");
    if (file_.Has(named)) {
      ATTEND_ASSIGN_OR_RETURN(out_.has_state, fields_.Flags(named, num_layers_));
    } else if (family_.state_period > 0 || file_.Has(interval_key)) {
      const auto usual = family_.state_period > 0 ? std::optional(family_.state_period) : std::nullopt;
      ATTEND_ASSIGN_OR_RETURN(const uint32_t interval, fields_.Number(interval_key, kMaxLayers, usual));
      out_.kinds = PeriodicKinds(num_layers_, interval, CacheKind::kLinear);
      for (size_t i = 0; i < num_layers_; ++i) out_.has_state[i] = out_.kinds[i] == CacheKind::kLinear;
      return true;
    } else {
      return ReadStatesFromTensors();
    }
    for (const bool is_linear : out_.has_state) {
      out_.kinds.push_back(is_linear ? CacheKind::kLinear : CacheKind::kFull);
    }
    return true;
  }

  Result<bool> ReadStatesFromTensors() {
    for (const TensorEntry& tensor : file_.tensors()) {
      const auto layer = LayerOfTensor(tensor.name);
      if (layer && *layer < num_layers_ && tensor.name.find(".ssm_") != std::string::npos) {
        out_.has_state[*layer] = true;
      }
    }
    return false;
  }

  Result<void> ReadWindows() {
    out_.kinds.assign(num_layers_, CacheKind::kFull);
    const std::string window = Key("attention.sliding_window"), pattern = Key("attention.sliding_window_pattern");
    ATTEND_ASSIGN_OR_RETURN(out_.window_tokens, fields_.Count(window, kMaxSeqLen));
    std::vector<CacheKind> kinds = FamilyKinds();
    const bool is_named = file_.Has(pattern);
    if (is_named) {
      ATTEND_ASSIGN_OR_RETURN(kinds, ReadPattern(pattern));
    }
    const bool has_windows = std::find(kinds.begin(), kinds.end(), CacheKind::kWindow) != kinds.end();
    if (out_.window_tokens > 0) {
      if (!has_windows && !is_named) {
        Doubt("a sliding window of " + std::to_string(out_.window_tokens) +
              " tokens is stated and not for which layers: all are charged a full cache");
      }
      out_.kinds = std::move(kinds);
    } else if (has_windows && family_.window != Window::kEveryLayer && !file_.Has(window)) {
      Doubt("no " + window + ": window layers are charged a full cache");
    }
    return {};
  }

  // A flag a layer, or a period; the period 0 is a window everywhere.
  Result<std::vector<CacheKind>> ReadPattern(const std::string& key) const {
    if (!fields_.IsArray(key)) {
      ATTEND_ASSIGN_OR_RETURN(const uint32_t period, fields_.Count(key, kMaxLayers));
      if (period == 0) return std::vector<CacheKind>(num_layers_, CacheKind::kWindow);
      return PeriodicKinds(num_layers_, period, CacheKind::kWindow);
    }
    ATTEND_ASSIGN_OR_RETURN(const std::vector<bool> flags, fields_.Flags(key, num_layers_));
    std::vector<CacheKind> kinds;
    for (const bool is_window : flags) kinds.push_back(is_window ? CacheKind::kWindow : CacheKind::kFull);
    return kinds;
  }

  std::vector<CacheKind> FamilyKinds() const {
    if (family_.window == Window::kAllButEveryNth) {
      return PeriodicKinds(num_layers_, family_.full_period, CacheKind::kWindow);
    }
    const bool is_everywhere = family_.window == Window::kEveryLayer;
    return std::vector<CacheKind>(num_layers_, is_everywhere ? CacheKind::kWindow : CacheKind::kFull);
  }

  void Doubt(std::string sentence) { out_.doubts.push_back(std::move(sentence)); }

  const GgufFile& file_;
  const GgufFields& fields_;
  const std::string& prefix_;
  const ModelFamily& family_;
  const uint32_t num_layers_;
  GgufLayerKinds out_;
};

}  // namespace

Result<GgufLayerKinds> ReadGgufLayerKinds(const GgufFile& file, const GgufFields& fields, const std::string& prefix,
                                          const ModelFamily& family, uint32_t num_layers) {
  return KindReader(file, fields, prefix, family, num_layers).Read();
}

}  // namespace attend
