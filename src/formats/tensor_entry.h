// One tensor as a file's header describes it. The readers have checked that shape, type and bytes agree and that
// [offset, offset + bytes) lies inside the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace attend {

struct TensorEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<uint64_t> shape;  // row-major, outermost first: GGUF's dimensions reversed. Empty for a scalar
  uint64_t offset = 0;          // of the data in the file
  uint64_t bytes = 0;
};

// "[49152, 576]", for messages.
std::string ShapeText(const std::vector<uint64_t>& shape);

}  // namespace attend
