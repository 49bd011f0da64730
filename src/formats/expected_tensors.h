// Which tensors a model needs, with the shapes that its header implies, in the names of either format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/model_header.h"

namespace attend {

enum class TensorNaming { kGguf, kHuggingFace };

struct ExpectedTensor {
  std::string name;
  std::vector<uint64_t> shape;
  bool optional = false;
};

std::vector<ExpectedTensor> ExpectedTensors(const ModelHeader& header, TensorNaming naming);

// Which errors to give, per format.
struct TensorCheck {
  std::string where;
  ErrorCode missing;
  ErrorCode bad_shape;
  ErrorCode bad_type;
};

// Every tensor that is not optional is there, all have the expected shape and a type that holds real numbers, and there
// are no others: one left out of account, a bias say, would change the results.
Result<void> CheckTensorList(const std::vector<ExpectedTensor>& expected, const std::vector<TensorEntry>& tensors,
                             const TensorCheck& check);

}  // namespace attend
