// Bytes of a weight matrix once it is packed (kernels/panel.h): the one formula by which PackedMatrix allocates and the
// plan counts.
//   bytes = ceil(num_outputs / 64) * panel,  panel = bytes of 64 outputs over all inputs:
//     f32, f16   64 * num_inputs * 4 or 2
//     bf16       64 * 2 * (num_inputs rounded up to even)
//     q8_0       num_inputs / 32 * 64 * (32 + 2)       values, scale
//     q4_0       num_inputs / 32 * 64 * (16 + 2)       nibbles, scale
//     q4_1       num_inputs / 32 * 64 * (16 + 2 + 2)   nibbles, scale, minimum
// 0 for a type that is not packed.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace attend {

inline constexpr uint64_t kPanelOutputs = 64;

// One panel: 64 outputs over `num_inputs` inputs. Precondition: num_inputs < 2^50, whole blocks.
constexpr uint64_t PackedPanelBytes(DType dtype, uint64_t num_inputs) {
  switch (dtype) {
    case DType::kF32:
      return kPanelOutputs * num_inputs * 4;
    case DType::kF16:
      return kPanelOutputs * num_inputs * 2;
    case DType::kBf16:
      return kPanelOutputs * (num_inputs + num_inputs % 2) * 2;
    // The file's block holds the same values, scale and minimum for one output: packing moves them, nothing is added.
    case DType::kQ4_0:
    case DType::kQ4_1:
    case DType::kQ8_0:
      return kPanelOutputs * (num_inputs / InfoOf(dtype).block_values) * InfoOf(dtype).block_bytes;
    default:
      return 0;
  }
}

constexpr uint64_t PackedMatrixBytes(DType dtype, uint64_t num_outputs, uint64_t num_inputs) {
  return (num_outputs + kPanelOutputs - 1) / kPanelOutputs * PackedPanelBytes(dtype, num_inputs);
}

}  // namespace attend
