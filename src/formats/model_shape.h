// What a plan needs of any transformer, whether it runs here or not: what each layer caches, multiplies and holds.
//
// Read from a GGUF file (formats/gguf_shape.h), or from a Hugging Face config.json, in the layout of transformers 5 or
// the older one, alone or inside a "text_config". A model_type that is not known is charged a full cache on every
// layer, and `doubts` says so; a kind of layer that is not known is refused. Every count is range-checked, so that no
// sum overflows.
//
// Errors: json_bad, config_bad, unsupported_feature.
//
//   ATTEND_ASSIGN_OR_RETURN(const ModelShape shape, ReadModelShape(config_json, "config.json"));
//   shape.KvBytes(KvFormat::Both(DType::kF16), 131072);
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tensor/cache_descriptor.h"

namespace attend {

struct LayerShape {
  CacheDescriptor cache = {};  // its format is the plan's
  uint32_t num_q_heads = 0;    // 0: no attention
  uint32_t qk_head_dim = 0;    // as multiplied; what latent attention caches is narrower
  uint32_t v_head_dim = 0;
  double parameters = 0;         // of all matrices and norms
  double active_parameters = 0;  // of the matrices that a token meets: the experts it is sent to
};

struct ModelShape {
  std::string name;          // may be empty
  std::string architecture;  // model_type
  uint32_t hidden_size = 0;
  uint32_t vocab_size = 0;
  uint32_t mlp_width = 0;       // values a token has between the matrices of the widest MLP, used experts together
  uint32_t trained_tokens = 0;  // after the position scaling that the model was trained with
  std::vector<LayerShape> layers = {};
  double table_parameters = 0;           // embeddings of tokens and positions
  double head_parameters = 0;            // of a head that is not the table again
  double stated_parameters = 0;          // 0: none stated; else what stands in for the sum
  double weight_bits = 16;               // a parameter, as published
  std::vector<std::string> doubts = {};  // what was assumed, a sentence each

  double Parameters() const;        // stated, or of layers, table and head
  double ActiveParameters() const;  // of layers alone
  double OutputParameters() const;  // of the matrix behind the last layer, the table again where they are tied

  // Of one sequence, exactly: window layers keep their window, states their size. At most 2^64 - 1.
  uint64_t KvBytes(KvFormat format, uint64_t tokens) const;
  // That `tokens` tokens after `depth` others read, each what is kept up to itself.
  double KvReadBytes(KvFormat format, int64_t depth, int64_t tokens) const;
  // That one more token adds where no window is full yet.
  uint64_t KvBytesPerToken(KvFormat format) const;
  // And where every window is: of full layers alone.
  uint64_t KvBytesPerLateToken(KvFormat format) const;

  // 2 (Dk + Dv) Hq * visible pairs of all layers, for `tokens` tokens after `depth` others: chunks of a prompt add up
  // to the prompt. Exact below 2^53.
  double AttentionFlops(int64_t tokens, int64_t depth) const;
  // With every pair of `tokens` tokens, seen or not: as figures are published that do not halve for the causal mask.
  double UnmaskedAttentionFlops(int64_t tokens) const;
  // Every layer for each token, the head for the last, no embedding lookup.
  double LinearFlops(int64_t tokens) const;
};

// `name` stands in messages.
Result<ModelShape> ReadModelShape(std::string_view config_json, std::string name);
Result<ModelShape> ShapeOfConfig(const nlohmann::json& config, std::string name);

// Query and key pairs of `tokens` tokens after `depth` others, where a token sees itself and at most `window` - 1
// before.
double WindowPairs(int64_t depth, int64_t tokens, int64_t window);

}  // namespace attend
