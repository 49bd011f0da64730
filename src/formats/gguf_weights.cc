#include "formats/gguf_weights.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/checked_math.h"
#include "formats/gguf_fields.h"

namespace attend {
namespace {

constexpr std::string_view kLayerPrefix = "blk.";

double Elements(const TensorEntry& tensor) {
  double elements = 1;
  for (const uint64_t dim : tensor.shape) elements *= static_cast<double>(dim);
  return elements;
}

bool IsMatrix(const TensorEntry& tensor) {
  return tensor.shape.size() >= 2 && !tensor.name.ends_with(".bias");
}

// All experts in one tensor, or one in each as in older files: "ffn_up_exps.weight", "ffn_up.7.weight".
bool IsOfExperts(std::string_view name) {
  if (name.find("_exps.") != std::string_view::npos) return true;
  for (const std::string_view part : {".ffn_gate.", ".ffn_up.", ".ffn_down."}) {
    const size_t at = name.find(part);
    if (at == std::string_view::npos || at + part.size() >= name.size()) continue;
    const char next = name[at + part.size()];
    if (next >= '0' && next <= '9') return true;
  }
  return false;
}

// One row a token is read: nothing beside the rest.
bool IsTable(std::string_view name) {
  return name == "token_embd.weight" || name == "position_embd.weight" || name == "token_types.weight" ||
         name == "per_layer_token_embd.weight";
}

// Computed anew, not learned.
bool IsRope(std::string_view name) {
  return name.starts_with("rope_");
}

class Scale {
 public:
  Scale(const GgufFile& file, uint32_t num_layers, double expert_share)
      : is_tied_(file.FindTensor("output.weight") == nullptr), expert_share_(expert_share) {
    weights_.layers.resize(num_layers);
  }

  void Add(const TensorEntry& tensor) {
    const double parameters = IsRope(tensor.name) ? 0 : Elements(tensor);
    weights_.parameters += parameters;
    weights_.bytes = CheckedAdd(weights_.bytes, tensor.bytes).value_or(UINT64_MAX);
    if (const auto layer = LayerOfTensor(tensor.name)) {
      if (*layer >= weights_.layers.size()) return;
      const double share = IsOfExperts(tensor.name) ? expert_share_ : 1;
      LayerParameters& sum = weights_.layers[*layer];
      ++sum.num_tensors;
      sum.parameters += parameters;
      if (IsMatrix(tensor)) sum.active_parameters += parameters * share;
      token_bytes_ += static_cast<double>(tensor.bytes) * share;
      return;
    }
    if (IsTable(tensor.name)) weights_.table_parameters += parameters;
    if (tensor.name == "output.weight") weights_.head_parameters += parameters;
    const bool is_head = tensor.name == "token_embd.weight" && is_tied_;
    if (is_head || !IsTable(tensor.name)) token_bytes_ += static_cast<double>(tensor.bytes);
  }

  GgufWeights Sum() {
    const double all = static_cast<double>(weights_.bytes);
    weights_.token_bytes = token_bytes_ < all ? static_cast<uint64_t>(token_bytes_) : weights_.bytes;
    return std::move(weights_);
  }

 private:
  bool is_tied_;
  double expert_share_;
  double token_bytes_ = 0;
  GgufWeights weights_;
};

bool HasExperts(const GgufFile& file) {
  const auto& tensors = file.tensors();
  return std::any_of(tensors.begin(), tensors.end(), [](const TensorEntry& t) { return IsOfExperts(t.name); });
}

Result<double> ReadExpertShare(const GgufFile& file, const GgufFields& fields, std::string_view architecture) {
  constexpr uint32_t kMaxExperts = 4096;
  const std::string prefix(architecture), count_key = prefix + ".expert_count";
  ATTEND_ASSIGN_OR_RETURN(uint32_t count, fields.Count(count_key, kMaxExperts));
  if (count == 0 && !HasExperts(file)) return 1.0;
  ATTEND_ASSIGN_OR_RETURN(count, fields.Number(count_key, kMaxExperts));
  const std::string used_key = prefix + ".expert_used_count";
  ATTEND_ASSIGN_OR_RETURN(const uint32_t used, fields.Number(used_key, kMaxExperts));
  if (used <= count) return static_cast<double>(used) / count;
  return fields.BadValue(used_key, "at most " + std::to_string(count), std::to_string(used));
}

}  // namespace

Result<GgufWeights> WeighTensors(const GgufFile& file, std::string_view architecture, uint32_t num_layers) {
  HeaderSource source;
  source.bad_value = ErrorCode::kGgufBadValue;
  source.where = file.name();
  ATTEND_ASSIGN_OR_RETURN(const double share, ReadExpertShare(file, GgufFields(file, source), architecture));
  Scale scale(file, num_layers, share);
  for (const TensorEntry& tensor : file.tensors()) scale.Add(tensor);
  GgufWeights weights = scale.Sum();
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    if (weights.layers[i].num_tensors > 0) continue;
    return FormatError(ErrorCode::kGgufMissing, file.name(), "layer " + std::to_string(i),
                       "tensors for each of the " + std::to_string(num_layers) + " layers of the header", "none");
  }
  return weights;
}

std::optional<uint32_t> LayerOfTensor(std::string_view name) {
  if (!name.starts_with(kLayerPrefix)) return std::nullopt;
  uint32_t layer = 0;
  const char* begin = name.data() + kLayerPrefix.size();
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(begin, end, layer);
  if (error != std::errc() || rest == end || *rest != '.') return std::nullopt;
  return layer;
}

}  // namespace attend
