// Whether the K and V matrices of a file have the rows that its header's KV heads need. A header that says 8 heads over
// matrices of 32 is off by four in every plan.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "formats/expected_tensors.h"
#include "formats/model_shape.h"

namespace attend {

struct KvHeadsFault {
  Error error;           // the first tensor, both figures, and the cache that follows from each
  ModelShape by_tensor;  // the shape with the heads that the tensors have
};

// Nothing: they agree, or no tensor tells. `where` stands in the message. Codes: gguf_bad_shape,
// safetensors_bad_tensor.
std::optional<KvHeadsFault> FindKvHeadsFault(const ModelShape& shape, std::span<const TensorEntry> tensors,
                                             TensorNaming naming, const std::string& where);

}  // namespace attend
