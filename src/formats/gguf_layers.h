// Which layer of a GGUF file's model is of which kind: by its keys, by what its family does, or by its tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/config_layers.h"
#include "formats/gguf_fields.h"

namespace attend {

struct GgufLayerKinds {
  // One a layer: full or window; linear where a state stands for keys; none where the whole text is seen at once.
  std::vector<CacheKind> kinds = {};
  std::vector<bool> has_state = {};  // linear layers, and those with keys and a state
  uint32_t num_shared = 0;           // the last layers, which read the keys of earlier ones
  uint32_t window_tokens = 0;
  std::vector<std::string> doubts = {};
};

// Errors: gguf_bad_type, gguf_bad_value, gguf_missing.
Result<GgufLayerKinds> ReadGgufLayerKinds(const GgufFile& file, const GgufFields& fields, const std::string& prefix,
                                          const ModelFamily& family, uint32_t num_layers);

}  // namespace attend
