// Whether the K and V matrices of a GGUF file have the rows that its header's KV heads need. A header that says 8 heads
// over matrices of 32 is off by four in every plan.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "formats/gguf.h"
#include "formats/model_shape.h"

namespace attend {

struct KvHeadsFault {
  Error error;           // gguf_bad_shape: the first tensor, both figures, and the cache that follows from each
  ModelShape by_tensor;  // the shape with the heads that the tensors have
};

// Nothing: they agree, or no tensor tells.
std::optional<KvHeadsFault> FindKvHeadsFault(const GgufFile& file, const ModelShape& shape);

}  // namespace attend
