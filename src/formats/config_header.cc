#include <nlohmann/json.hpp>
#include <utility>

#include "formats/config_fields.h"
#include "formats/expected_tensors.h"
#include "formats/json.h"
#include "formats/model_header.h"

namespace attend {
namespace {

using nlohmann::json;

// Fields that change the arithmetic of a llama model in a way that is not implemented.
Result<void> RefuseFeatures(const ConfigFields& fields) {
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    ATTEND_ASSIGN_OR_RETURN(const bool has_bias, fields.Flag(key, false));
    if (has_bias) return fields.Unsupported(key, "false", "true");
  }
  ATTEND_ASSIGN_OR_RETURN(const std::string activation, fields.Text("hidden_act", "silu"));
  if (activation != "silu") return fields.Unsupported("hidden_act", "'silu'", Quote(activation));
  for (const char* key : {"quantization_config", "sliding_window", "num_local_experts"}) {
    if (fields.Find(key) != nullptr) return fields.Unsupported(key, "no such key", "one");
  }
  return {};
}

Result<void> RefusePartialRotation(const ConfigFields& fields) {
  constexpr const char* kKey = "partial_rotary_factor";
  ATTEND_ASSIGN_OR_RETURN(const double share, fields.Real(kKey, {0, 1}, 1));
  if (share != 1) return fields.Unsupported(kKey, "1", std::to_string(share));
  return {};
}

Result<RopeScaling> ReadScaling(const ConfigFields& rope) {
  RopeScaling scaling;
  const char* type_key = rope.Find("rope_type") != nullptr ? "rope_type" : "type";  // "type" in files before 2024
  ATTEND_ASSIGN_OR_RETURN(const std::string type, rope.Text(type_key, "default"));
  if (type == "default") return scaling;
  if (type != "linear" && type != "llama3")
    return rope.Unsupported(type_key, "'default', 'linear' or 'llama3'", Quote(type));
  ATTEND_ASSIGN_OR_RETURN(scaling.factor, rope.Real("factor", kRopeFactorRange));
  scaling.kind = RopeScaling::Kind::kLinear;
  if (type == "linear") return scaling;
  scaling.kind = RopeScaling::Kind::kLlama3;
  ATTEND_ASSIGN_OR_RETURN(scaling.low_freq_factor, rope.Real("low_freq_factor", kRopeFactorRange));
  // Above the low one: the interpolation divides by their difference.
  ATTEND_ASSIGN_OR_RETURN(scaling.high_freq_factor,
                          rope.Real("high_freq_factor", {scaling.low_freq_factor * 1.000001, kRopeFactorRange.max}));
  ATTEND_ASSIGN_OR_RETURN(scaling.original_max_seq_len, rope.Number("original_max_position_embeddings", kMaxSeqLen));
  return scaling;
}

// transformers 5 keeps all of it in rope_parameters; before, rope_theta stood outside and rope_scaling held the rest.
Result<void> ReadRope(const ConfigFields& fields, const HeaderSource& source, ModelHeader& header) {
  header.rope_style = RopeStyle::kHalf;
  ATTEND_RETURN_IF_ERROR(RefusePartialRotation(fields));
  const char* key = fields.Find("rope_parameters") != nullptr ? "rope_parameters" : "rope_scaling";
  const json none = json::object();
  const json* object = fields.Find(key);
  if (object == nullptr) object = &none;
  if (!object->is_object()) return fields.Wrong(key, "an object", object);
  const ConfigFields rope(*object, source);
  ATTEND_RETURN_IF_ERROR(RefusePartialRotation(rope));
  ATTEND_ASSIGN_OR_RETURN(const double outer_theta, fields.Real("rope_theta", kRopeThetaRange, 10000));
  ATTEND_ASSIGN_OR_RETURN(header.rope_theta, rope.Real("rope_theta", kRopeThetaRange, outer_theta));
  ATTEND_ASSIGN_OR_RETURN(header.rope_scaling, ReadScaling(rope));
  return {};
}

Result<void> ReadSizes(const ConfigFields& fields, const HeaderSource& source, ModelHeader& header) {
  ATTEND_ASSIGN_OR_RETURN(header.num_layers, fields.Number("num_hidden_layers", kMaxLayers));
  ATTEND_ASSIGN_OR_RETURN(header.hidden_size, fields.Number(source.hidden_size, kMaxHiddenSize));
  ATTEND_ASSIGN_OR_RETURN(header.intermediate_size, fields.Number("intermediate_size", kMaxIntermediateSize));
  ATTEND_ASSIGN_OR_RETURN(header.num_q_heads, fields.Number(source.num_q_heads, kMaxHeads));
  ATTEND_ASSIGN_OR_RETURN(header.num_kv_heads, fields.Number(source.num_kv_heads, kMaxHeads, header.num_q_heads));
  ATTEND_ASSIGN_OR_RETURN(header.head_dim, fields.Number("head_dim", kMaxHeadDim, 0));
  ATTEND_RETURN_IF_ERROR(DeriveHeadDim(source, header));
  header.v_head_dim = header.head_dim;
  header.rotary_dim = header.head_dim;
  ATTEND_ASSIGN_OR_RETURN(header.vocab_size, fields.Number("vocab_size", kMaxVocabSize));
  ATTEND_ASSIGN_OR_RETURN(header.max_seq_len, fields.Number("max_position_embeddings", kMaxSeqLen));
  return CheckFields(source, header);
}

}  // namespace

Result<ModelHeader> ReadModelHeader(std::string_view config_json, std::string name) {
  ATTEND_ASSIGN_OR_RETURN(const json config, ParseJson(config_json, name));
  const HeaderSource source = {.bad_value = ErrorCode::kConfigBad,
                               .where = std::move(name),
                               .hidden_size = "hidden_size",
                               .num_q_heads = "num_attention_heads",
                               .num_kv_heads = "num_key_value_heads",
                               .rotary_dim = "head_dim"};
  if (!config.is_object()) {
    return FormatError(ErrorCode::kConfigBad, source.where, "the configuration", "an object", config.type_name());
  }
  const ConfigFields fields(config, source);
  ModelHeader header;
  ATTEND_ASSIGN_OR_RETURN(header.architecture, fields.Text("model_type"));
  if (header.architecture != "llama") {
    return FormatError(ErrorCode::kUnsupportedArchitecture, source.where, "key 'model_type'", "'llama'",
                       Quote(header.architecture));
  }
  ATTEND_RETURN_IF_ERROR(RefuseFeatures(fields));
  ATTEND_RETURN_IF_ERROR(ReadSizes(fields, source, header));
  ATTEND_ASSIGN_OR_RETURN(const double eps, fields.Real("rms_norm_eps", kNormEpsRange));
  header.norm_eps = static_cast<float>(eps);
  ATTEND_RETURN_IF_ERROR(ReadRope(fields, source, header));
  ATTEND_ASSIGN_OR_RETURN(header.tied_embeddings, fields.Flag("tie_word_embeddings", false));
  return header;
}

Result<void> CheckTensors(const ModelHeader& header, const SafetensorsFile& file) {
  const TensorCheck check = {.where = file.name(),
                             .missing = ErrorCode::kSafetensorsMissing,
                             .bad_shape = ErrorCode::kSafetensorsBadTensor,
                             .bad_type = ErrorCode::kUnsupportedTensorType};
  return CheckTensorList(ExpectedTensors(header, TensorNaming::kHuggingFace), file.tensors(), check);
}

}  // namespace attend
