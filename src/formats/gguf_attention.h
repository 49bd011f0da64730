// The attention and the states of a GGUF file's layers: heads and their sizes, and what a layer of each kind holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/gguf_layers.h"
#include "formats/layer_cache.h"
#include "formats/model_shape.h"

namespace attend {

class GgufAttention {
 public:
  // All must outlive the object. `prefix`: "llama."
  GgufAttention(const GgufFile& file, const GgufFields& fields, const std::string& prefix, uint32_t hidden_size)
      : file_(file), fields_(fields), prefix_(prefix), hidden_size_(hidden_size) {}

  // `family` may be null. Errors: gguf_missing, gguf_bad_type, gguf_bad_value.
  Result<void> Read(uint32_t num_layers, const ModelFamily* family);

  // Without parameters. Errors: as Read, of the keys that only layers with a state need.
  Result<LayerShape> Layer(uint32_t index, const GgufLayerKinds& kinds);

  std::vector<std::string> TakeDoubts() { return std::move(doubts_); }

 private:
  struct HeadDims {
    uint32_t k = 0, v = 0;
  };

  std::string Key(const char* name) const { return prefix_ + name; }
  Result<void> ReadKvHeads(uint32_t num_layers, const ModelFamily* family);
  Result<void> ReadHeadDims();
  Result<void> ReadLatent(const ModelFamily* family);
  Result<void> ReadState();

  const GgufFile& file_;
  const GgufFields& fields_;
  const std::string& prefix_;
  const uint32_t hidden_size_;
  std::vector<uint32_t> num_q_heads_, num_kv_heads_;  // a layer; 0: no attention
  HeadDims full_, window_;                            // of layers that see all, of those with a window
  uint32_t kv_rank_ = 0, rope_dim_ = 0;               // latent attention; kv_rank_ 0: none
  StateSizes state_;                                  // inner_size 0: not read yet
  std::vector<std::string> doubts_;
};

}  // namespace attend
