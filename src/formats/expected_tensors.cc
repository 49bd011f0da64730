#include "formats/expected_tensors.h"

#include "formats/format_error.h"
#include "formats/name_index.h"

namespace attend {
namespace {

struct LayerNames {
  const char* prefix;  // followed by the layer's number and a dot
  const char* attention_norm;
  const char* q;
  const char* k;
  const char* v;
  const char* attention_output;
  const char* mlp_norm;
  const char* gate;
  const char* up;
  const char* down;
};

constexpr LayerNames kGgufNames = {"blk.",          "attn_norm.weight",   "attn_q.weight",   "attn_k.weight",
                                   "attn_v.weight", "attn_output.weight", "ffn_norm.weight", "ffn_gate.weight",
                                   "ffn_up.weight", "ffn_down.weight"};

constexpr LayerNames kHuggingFaceNames = {
    "model.layers.",           "input_layernorm.weight",  "self_attn.q_proj.weight",         "self_attn.k_proj.weight",
    "self_attn.v_proj.weight", "self_attn.o_proj.weight", "post_attention_layernorm.weight", "mlp.gate_proj.weight",
    "mlp.up_proj.weight",      "mlp.down_proj.weight"};

void AddLayer(const ModelHeader& header, const LayerNames& names, uint32_t layer, std::vector<ExpectedTensor>& out) {
  const uint64_t hidden = header.hidden_size;
  const uint64_t intermediate = header.intermediate_size;
  const uint64_t q_rows = uint64_t{header.num_q_heads} * header.head_dim;
  const uint64_t k_rows = uint64_t{header.num_kv_heads} * header.head_dim;
  const uint64_t v_rows = uint64_t{header.num_kv_heads} * header.v_head_dim;
  const uint64_t attention_columns = uint64_t{header.num_q_heads} * header.v_head_dim;
  const std::string prefix = names.prefix + std::to_string(layer) + ".";
  out.push_back({prefix + names.attention_norm, {hidden}});
  out.push_back({prefix + names.q, {q_rows, hidden}});
  out.push_back({prefix + names.k, {k_rows, hidden}});
  out.push_back({prefix + names.v, {v_rows, hidden}});
  out.push_back({prefix + names.attention_output, {hidden, attention_columns}});
  out.push_back({prefix + names.mlp_norm, {hidden}});
  out.push_back({prefix + names.gate, {intermediate, hidden}});
  out.push_back({prefix + names.up, {intermediate, hidden}});
  out.push_back({prefix + names.down, {hidden, intermediate}});
}

// Blocks hold matrices; a norm's few values are always plain.
bool CanCompute(DType dtype, size_t num_dims) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBf16:
      return true;
    case DType::kQ4_0:
    case DType::kQ4_1:
    case DType::kQ8_0:
      return num_dims == 2;
    default:
      return false;
  }
}

Result<void> CheckOne(const ExpectedTensor& expected, const TensorEntry& tensor, const TensorCheck& check) {
  const std::string subject = Subject("tensor", tensor.name);
  if (tensor.shape != expected.shape) {
    return FormatError(check.bad_shape, check.where, subject, "shape " + ShapeText(expected.shape),
                       ShapeText(tensor.shape), tensor.offset);
  }
  if (!CanCompute(tensor.dtype, tensor.shape.size())) {
    return FormatError(check.bad_type, check.where, subject, "a floating-point type", std::string(NameOf(tensor.dtype)),
                       tensor.offset);
  }
  return {};
}

}  // namespace

std::vector<ExpectedTensor> ExpectedTensors(const ModelHeader& header, TensorNaming naming) {
  const bool is_gguf = naming == TensorNaming::kGguf;
  const std::vector<uint64_t> table = {header.vocab_size, header.hidden_size};
  const uint64_t num_pairs = header.rotary_dim / 2;
  std::vector<ExpectedTensor> expected;
  expected.push_back({is_gguf ? "token_embd.weight" : "model.embed_tokens.weight", table});
  for (uint32_t layer = 0; layer < header.num_layers; ++layer) {
    AddLayer(header, is_gguf ? kGgufNames : kHuggingFaceNames, layer, expected);
    // Old checkpoints keep the rope's frequencies, which everyone computes anew.
    if (!is_gguf)
      expected.push_back(
          {"model.layers." + std::to_string(layer) + ".self_attn.rotary_emb.inv_freq", {num_pairs}, true});
  }
  expected.push_back({is_gguf ? "output_norm.weight" : "model.norm.weight", {header.hidden_size}});
  // A tied checkpoint may still hold a copy of the embeddings.
  expected.push_back({is_gguf ? "output.weight" : "lm_head.weight", table, header.tied_embeddings});
  if (is_gguf) expected.push_back({"rope_freqs.weight", {num_pairs}, true});
  return expected;
}

Result<void> CheckTensorList(const std::vector<ExpectedTensor>& expected, const std::vector<TensorEntry>& tensors,
                             const TensorCheck& check) {
  const auto name_of = [&](size_t i) { return std::string_view(expected[i].name); };
  NameIndex index;
  index.Build(expected.size(), name_of);
  std::vector<bool> found(expected.size());
  for (const TensorEntry& tensor : tensors) {
    const auto position = index.Find(tensor.name, name_of);
    if (!position) {
      return FormatError(ErrorCode::kUnsupportedFeature, check.where, Subject("tensor", tensor.name),
                         "the tensors of a plain llama model", "this one too", tensor.offset);
    }
    found[*position] = true;
    ATTEND_RETURN_IF_ERROR(CheckOne(expected[*position], tensor, check));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (found[i] || expected[i].optional) continue;
    return FormatError(check.missing, check.where, Subject("tensor", expected[i].name),
                       "shape " + ShapeText(expected[i].shape), "no such tensor");
  }
  return {};
}

}  // namespace attend
