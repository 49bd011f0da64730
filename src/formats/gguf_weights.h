// What a GGUF file's tensors weigh, from its table alone: all of them, and what a token meets of them. Of experts
// ("blk.3.ffn_up_exps.weight") a token meets expert_used_count of expert_count; of a table of embeddings one row.
//
// Errors: gguf_bad_type, gguf_bad_value, gguf_missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/gguf.h"

namespace attend {

struct LayerParameters {
  uint64_t num_tensors = 0;
  double parameters = 0;         // of all tensors
  double active_parameters = 0;  // of the matrices that a token meets
};

struct GgufWeights {
  std::vector<LayerParameters> layers = {};
  double parameters = 0;        // of all tensors, those outside of layers too
  double table_parameters = 0;  // embeddings of tokens and positions
  double head_parameters = 0;   // of a head that is not the table again
  uint64_t bytes = 0;           // as the file stores them
  uint64_t token_bytes = 0;     // of these, read for every token
};

// Layers from `num_layers` on predict further tokens: they are held and not met.
Result<GgufWeights> WeighTensors(const GgufFile& file, std::string_view architecture, uint32_t num_layers);

// "blk.3.attn_k.weight": 3.
std::optional<uint32_t> LayerOfTensor(std::string_view name);

}  // namespace attend
