// Which layer of a config.json's model is of which kind: named one by one, by a period, or by what its family does.
#pragma once

#include <vector>

#include "formats/config_fields.h"
#include "tensor/cache_descriptor.h"

namespace attend {

// What a family of models does where its config.json does not say it.
struct ModelFamily {
  enum class Window { kNone, kEveryLayer, kAllButEveryNth, kFromSomeLayer };

  std::string_view model_type;
  Window window = Window::kNone;  // which layers a "sliding_window" applies to
  uint32_t full_period = 0;       // kAllButEveryNth: layer i is full where (i + 1) % period == 0
  bool gated_mlp = true;          // three matrices, else two
  bool kv_heads_stated = true;    // false: every query head has its own, and no key says so
  bool generates = true;          // false: sees the whole text at once and caches nothing
  bool learned_positions = false;
  bool gates_attention = false;  // the query projection also makes a gate for the output
};

// Null: not known.
const ModelFamily* FindFamily(std::string_view model_type);

// One kind a layer. Errors: config_bad, unsupported_feature.
Result<std::vector<CacheKind>> ReadLayerKinds(const ConfigFields& fields, const ModelFamily& family,
                                              uint32_t num_layers);

// An integer that may be 0 or absent, both meaning none.
Result<uint32_t> CountOrNone(const ConfigFields& fields, const std::string& key, uint32_t max);

}  // namespace attend
