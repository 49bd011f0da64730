// Random weight matrices in every file format.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "tensor/dtype.h"

namespace attend {

inline constexpr DType kWeightTypes[] = {DType::kF32,  DType::kF16,  DType::kBf16,
                                         DType::kQ4_0, DType::kQ4_1, DType::kQ8_0};

inline bool IsQuantised(DType dtype) {
  return InfoOf(dtype).block_values > 1;
}

// [num_outputs, num_inputs] as a file stores it, with values of about one.
inline std::vector<uint8_t> RandomWeightBytes(DType dtype, int64_t num_outputs, int64_t num_inputs, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  const DTypeInfo info = InfoOf(dtype);
  std::vector<uint8_t> bytes(static_cast<size_t>(num_outputs * num_inputs / info.block_values * info.block_bytes));
  for (size_t at = 0; at < bytes.size(); at += info.block_bytes) {
    uint8_t* p = bytes.data() + at;
    const float value = normal(random);
    const uint16_t half = FloatToHalf(value * (dtype == DType::kQ8_0 ? 0.01f : IsQuantised(dtype) ? 0.15f : 1.0f));
    const uint16_t brain = FloatToBf16(value);
    if (dtype == DType::kF32) {
      std::memcpy(p, &value, 4);
    } else {
      std::memcpy(p, dtype == DType::kBf16 ? &brain : &half, 2);
    }
    for (size_t i = 2; IsQuantised(dtype) && i < info.block_bytes; ++i) p[i] = static_cast<uint8_t>(random());
    if (dtype == DType::kQ4_1) {
      const uint16_t minimum = FloatToHalf(normal(random));
      std::memcpy(p + 2, &minimum, 2);
    }
  }
  return bytes;
}

}  // namespace attend
