// What families of models do where their files do not say it, and which layer of a config.json's model is of which
// kind: named one by one, by a period, or by its family.
#pragma once

#include <vector>

#include "formats/config_fields.h"
#include "tensor/cache_descriptor.h"

namespace attend {

struct ModelFamily {
  enum class Window { kNone, kEveryLayer, kAllButEveryNth, kFromSomeLayer };

  std::string_view model_type = {};  // of a config.json; empty: not read from one
  std::string_view gguf_name = {};   // general.architecture of a GGUF file; empty: none, or that of a row before
  Window window = Window::kNone;     // which layers a "sliding_window" applies to
  uint32_t full_period = 0;          // kAllButEveryNth: layer i is full where (i + 1) % period == 0
  uint32_t state_period = 0;         // layer i has keys where (i + 1) % period == 0, the others a state
  bool gated_mlp = true;             // three matrices, else two
  bool kv_heads_stated = true;       // false: every query head has its own, and no key says so
  bool generates = true;             // false: sees the whole text at once and caches nothing
  bool learned_positions = false;
  bool gates_attention = false;  // the query projection also makes a gate for the output
};

// Null: not known.
const ModelFamily* FindFamily(std::string_view model_type);
const ModelFamily* FindGgufFamily(std::string_view architecture);

// Layer i is full where (i + 1) % period == 0, else `other`. Precondition: period > 0.
std::vector<CacheKind> PeriodicKinds(uint32_t num_layers, uint32_t period, CacheKind other);

// One kind a layer. Errors: config_bad, unsupported_feature.
Result<std::vector<CacheKind>> ReadLayerKinds(const ConfigFields& fields, const ModelFamily& family,
                                              uint32_t num_layers);

// An integer that may be 0 or absent, both meaning none.
Result<uint32_t> CountOrNone(const ConfigFields& fields, const std::string& key, uint32_t max);

}  // namespace attend
