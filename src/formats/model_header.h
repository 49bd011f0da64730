// What a model file says about its model: sizes, norm, rope, tying. Only architecture "llama".
//
// Every number is range-checked and the numbers fit together, every tensor that the model needs is there in the shape
// they imply and in a type that can be computed with, and no tensor is left over: after this, kernels read nothing out
// of bounds and no field that changes the arithmetic has been ignored.
//
// Errors: gguf_missing, gguf_bad_type, gguf_bad_value, gguf_bad_shape, safetensors_missing, safetensors_bad_tensor,
// json_bad, config_bad, tokenizer_bad, tokenizer_unsupported, unsupported_architecture, unsupported_feature.
//
//   ATTEND_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open("model.gguf"));
//   ATTEND_ASSIGN_OR_RETURN(const ModelHeader header, ReadModelHeader(file));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/gguf.h"
#include "formats/safetensors.h"

namespace attend {

// Which two of a head's values turn together: i and i + rotary_dim / 2, or 2i and 2i + 1. GGUF files of llama hold the
// rows of q and k permuted for the second.
enum class RopeStyle { kHalf, kInterleaved };

// How inv_freq(i) = rope_theta^(-2i / rotary_dim) is changed, i < rotary_dim / 2.
struct RopeScaling {
  // kLinear: / factor. kLlama3: by wavelength, arXiv:2407.21783 and transformers' modeling_rope_utils. kDivisors: /
  // divisors[i], as GGUF files store the llama3 kind.
  enum class Kind { kNone, kLinear, kLlama3, kDivisors };

  Kind kind = Kind::kNone;
  double factor = 1;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  uint32_t original_max_seq_len = 0;
  std::vector<float> divisors = {};  // [rotary_dim / 2]

  bool operator==(const RopeScaling&) const = default;
};

struct ModelHeader {
  std::string architecture;  // "llama"
  std::string name;          // may be empty
  uint32_t num_layers = 0;
  uint32_t hidden_size = 0;
  uint32_t intermediate_size = 0;
  uint32_t num_q_heads = 0;
  uint32_t num_kv_heads = 0;
  uint32_t head_dim = 0;
  uint32_t v_head_dim = 0;
  uint32_t rotary_dim = 0;
  uint32_t vocab_size = 0;
  uint32_t max_seq_len = 0;
  float norm_eps = 0;
  double rope_theta = 0;
  RopeStyle rope_style = RopeStyle::kHalf;
  RopeScaling rope_scaling = {};
  bool tied_embeddings = false;

  bool operator==(const ModelHeader&) const = default;
};

// Checks the tensors and the tokenizer's tables too.
Result<ModelHeader> ReadModelHeader(const GgufFile& file);

inline constexpr size_t kMostConfigBytes = size_t{1} << 24;  // of a config.json: more is refused unread

// A Hugging Face config.json of model_type "llama", in the layout of transformers 5 (rope_parameters) or the older one
// (rope_theta, rope_scaling). `name` stands in messages and is not the model's name, which is left empty.
Result<ModelHeader> ReadModelHeader(std::string_view config_json, std::string name);

// The tensors of a Hugging Face checkpoint against its config.json.
Result<void> CheckTensors(const ModelHeader& header, const SafetensorsFile& file);

}  // namespace attend
