#include <cmath>
#include <cstring>
#include <utility>

#include "formats/expected_tensors.h"
#include "formats/gguf_fields.h"
#include "formats/model_header.h"
#include "formats/tokenizer_check.h"

namespace attend {
namespace {

constexpr const char* kDivisors = "rope_freqs.weight";

// Keys that change the arithmetic of a llama model in a way that is not implemented.
Result<void> RefuseFeatures(const GgufFile& file, const GgufFields& fields) {
  constexpr std::string_view kExperts = "llama.expert_count";
  ATTEND_ASSIGN_OR_RETURN(const uint64_t num_experts, file.UnsignedOr(kExperts, 0));
  ATTEND_ASSIGN_OR_RETURN(const uint64_t num_used, file.UnsignedOr("llama.expert_used_count", 0));
  if (num_used > num_experts) {
    return fields.BadValue("llama.expert_used_count", "at most " + std::to_string(num_experts),
                           std::to_string(num_used));
  }
  if (num_experts > 0) return fields.Unsupported(kExperts, "no experts", std::to_string(num_experts));
  for (const std::string_view key : {"llama.attention.head_count", "llama.attention.head_count_kv"}) {
    if (fields.IsArray(key)) return fields.Unsupported(key, "one number for all layers", "an array");
  }
  constexpr std::string_view kWindow = "llama.attention.sliding_window";
  ATTEND_ASSIGN_OR_RETURN(const uint64_t window, file.UnsignedOr(kWindow, 0));
  if (window > 0) return fields.Unsupported(kWindow, "no sliding window", std::to_string(window));
  constexpr std::string_view kCausal = "llama.attention.causal";
  ATTEND_ASSIGN_OR_RETURN(const bool is_causal, file.BoolOr(kCausal, true));
  if (!is_causal) return fields.Unsupported(kCausal, "true", "false");
  for (const std::string_view key :
       {"llama.attention.clamp_kqv", "llama.attention.scale", "llama.attn_logit_softcapping",
        "llama.final_logit_softcapping", "llama.embedding_scale", "llama.residual_scale", "llama.logit_scale"}) {
    if (file.Has(key)) return fields.Unsupported(key, "no such key", "one");
  }
  return {};
}

Result<RopeScaling> ReadScaling(const GgufFile& file, const GgufFields& fields, uint32_t rotary_dim) {
  constexpr std::string_view kType = "llama.rope.scaling.type";
  const std::string factor_key =
      file.Has("llama.rope.scaling.factor") ? "llama.rope.scaling.factor" : "llama.rope.scale_linear";
  RopeScaling scaling;
  ATTEND_ASSIGN_OR_RETURN(const std::string_view type, file.StringOr(kType, file.Has(factor_key) ? "linear" : "none"));
  if (type != "none" && type != "linear") return fields.Unsupported(kType, "'none' or 'linear'", Quote(type));
  if (type == "linear") {
    ATTEND_ASSIGN_OR_RETURN(const double factor, file.FloatOr(factor_key, 0));
    if (factor != 0 && factor != 1) {  // 0 is how converters write "none"
      scaling.kind = RopeScaling::Kind::kLinear;
      ATTEND_ASSIGN_OR_RETURN(scaling.factor, fields.Real(factor_key, kRopeFactorRange));
    }
  }
  const TensorEntry* divisors = file.FindTensor(kDivisors);
  if (divisors == nullptr) return scaling;
  const std::string subject = Subject("tensor", kDivisors);
  if (scaling.kind != RopeScaling::Kind::kNone) {
    return FormatError(ErrorCode::kUnsupportedFeature, file.name(), subject, "one kind of rope scaling", "two",
                       divisors->offset);
  }
  scaling.kind = RopeScaling::Kind::kDivisors;
  if (divisors->dtype != DType::kF32 || divisors->shape != std::vector<uint64_t>{rotary_dim / 2}) {
    return FormatError(
        ErrorCode::kGgufBadShape, file.name(), subject, "f32 of shape [" + std::to_string(rotary_dim / 2) + "]",
        std::string(NameOf(divisors->dtype)) + " of shape " + ShapeText(divisors->shape), divisors->offset);
  }
  scaling.divisors.resize(rotary_dim / 2);
  std::memcpy(scaling.divisors.data(), file.Data(*divisors).data(), divisors->bytes);
  for (const float divisor : scaling.divisors) {
    if (std::isfinite(divisor) && divisor > 0) continue;
    return FormatError(ErrorCode::kGgufBadValue, file.name(), subject, "finite values above 0", std::to_string(divisor),
                       divisors->offset);
  }
  return scaling;
}

// From the tokenizer, the embedding's rows and the key, which must agree.
Result<uint32_t> ReadVocabSize(const GgufFile& file, const GgufFields& fields) {
  ATTEND_ASSIGN_OR_RETURN(const std::optional<uint64_t> num_tokens, CheckTokenizer(file));
  const TensorEntry* table = file.FindTensor("token_embd.weight");
  if (table == nullptr) {
    return FormatError(ErrorCode::kGgufMissing, file.name(), "tensor 'token_embd.weight'", "the token embeddings",
                       "no such tensor");
  }
  if (table->shape.size() != 2 || table->shape[0] == 0 || table->shape[0] > kMaxVocabSize) {
    return FormatError(ErrorCode::kGgufBadShape, file.name(), "tensor 'token_embd.weight'",
                       "[vocabulary of at most " + std::to_string(kMaxVocabSize) + ", hidden size]",
                       ShapeText(table->shape), table->offset);
  }
  const uint64_t rows = table->shape[0];
  if (num_tokens.value_or(rows) != rows) {
    return FormatError(ErrorCode::kGgufBadShape, file.name(), "tensor 'token_embd.weight'",
                       std::to_string(*num_tokens) + " rows, one for each of tokenizer.ggml.tokens",
                       std::to_string(rows), table->offset);
  }
  ATTEND_ASSIGN_OR_RETURN(const uint64_t vocab_size, file.UnsignedOr("llama.vocab_size", rows));
  if (vocab_size != rows) {
    return fields.BadValue("llama.vocab_size", std::to_string(rows) + ", the rows of token_embd.weight",
                           std::to_string(vocab_size));
  }
  return static_cast<uint32_t>(rows);
}

Result<void> ReadSizes(const GgufFields& fields, const HeaderSource& source, ModelHeader& header) {
  ATTEND_ASSIGN_OR_RETURN(header.num_layers, fields.Number("llama.block_count", kMaxLayers));
  ATTEND_ASSIGN_OR_RETURN(header.hidden_size, fields.Number(source.hidden_size, kMaxHiddenSize));
  ATTEND_ASSIGN_OR_RETURN(header.intermediate_size, fields.Number("llama.feed_forward_length", kMaxIntermediateSize));
  ATTEND_ASSIGN_OR_RETURN(header.num_q_heads, fields.Number(source.num_q_heads, kMaxHeads));
  ATTEND_ASSIGN_OR_RETURN(header.num_kv_heads, fields.Number(source.num_kv_heads, kMaxHeads, header.num_q_heads));
  ATTEND_ASSIGN_OR_RETURN(header.head_dim, fields.Number("llama.attention.key_length", kMaxHeadDim, 0));
  ATTEND_RETURN_IF_ERROR(DeriveHeadDim(source, header));
  ATTEND_ASSIGN_OR_RETURN(header.v_head_dim,
                          fields.Number("llama.attention.value_length", kMaxHeadDim, header.head_dim));
  ATTEND_ASSIGN_OR_RETURN(header.rotary_dim, fields.Number(source.rotary_dim, kMaxHeadDim, header.head_dim));
  ATTEND_ASSIGN_OR_RETURN(header.max_seq_len, fields.Number("llama.context_length", kMaxSeqLen));
  return CheckFields(source, header);
}

}  // namespace

Result<ModelHeader> ReadModelHeader(const GgufFile& file) {
  ModelHeader header;
  ATTEND_ASSIGN_OR_RETURN(header.architecture, file.String("general.architecture"));
  if (header.architecture != "llama") {
    return FormatError(ErrorCode::kUnsupportedArchitecture, file.name(), "key 'general.architecture'", "'llama'",
                       Quote(header.architecture), file.FindEntry("general.architecture")->offset);
  }
  ATTEND_ASSIGN_OR_RETURN(header.name, file.StringOr("general.name", ""));
  const HeaderSource source = {.bad_value = ErrorCode::kGgufBadValue,
                               .where = file.name(),
                               .hidden_size = "llama.embedding_length",
                               .num_q_heads = "llama.attention.head_count",
                               .num_kv_heads = "llama.attention.head_count_kv",
                               .rotary_dim = "llama.rope.dimension_count"};
  const GgufFields fields(file, source);
  ATTEND_RETURN_IF_ERROR(RefuseFeatures(file, fields));
  ATTEND_RETURN_IF_ERROR(ReadSizes(fields, source, header));
  ATTEND_ASSIGN_OR_RETURN(const double eps, fields.Real("llama.attention.layer_norm_rms_epsilon", kNormEpsRange));
  header.norm_eps = static_cast<float>(eps);
  ATTEND_ASSIGN_OR_RETURN(header.rope_theta, fields.Real("llama.rope.freq_base", kRopeThetaRange, 10000));
  header.rope_style = RopeStyle::kInterleaved;
  ATTEND_ASSIGN_OR_RETURN(header.rope_scaling, ReadScaling(file, fields, header.rotary_dim));
  ATTEND_ASSIGN_OR_RETURN(header.vocab_size, ReadVocabSize(file, fields));
  header.tied_embeddings = file.FindTensor("output.weight") == nullptr;
  const TensorCheck check = {.where = file.name(),
                             .missing = ErrorCode::kGgufMissing,
                             .bad_shape = ErrorCode::kGgufBadShape,
                             .bad_type = ErrorCode::kUnsupportedTensorType};
  ATTEND_RETURN_IF_ERROR(CheckTensorList(ExpectedTensors(header, TensorNaming::kGguf), file.tensors(), check));
  return header;
}

}  // namespace attend
