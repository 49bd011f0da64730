// How a cache stores K and V. Chosen by the caller (--kv), the same for plan and run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace attend {

inline constexpr int64_t kWidthMultiple = 16;  // V columns and K dimensions are padded to this with zeros

// A head dimension as the kernels take it.
constexpr int64_t PaddedHeadDim(int64_t head_dim) {
  return (head_dim + kWidthMultiple - 1) / kWidthMultiple * kWidthMultiple;
}

inline constexpr uint32_t kWholeHead = 0;
inline constexpr uint32_t kGroupValues = 32;

struct KvFormat {
  DType k = DType::kBf16;  // f32, bf16, f16, q8 or q4
  DType v = DType::kBf16;
  uint32_t scale_group = kWholeHead;  // q8, q4: values that share a scale: kWholeHead or 32
  bool rotate_k = false;  // K (and q) times a Hadamard matrix before rounding: outliers spread over the head

  // K of 4 bits is rotated: docs/adr/0010 has what that is worth.
  static constexpr KvFormat Both(DType dtype) {
    return {.k = dtype, .v = dtype, .scale_group = kWholeHead, .rotate_k = dtype == DType::kQ4};
  }
  bool operator==(const KvFormat&) const = default;
};

constexpr bool IsKvDType(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBf16 || dtype == DType::kF16 || dtype == DType::kQ8 ||
         dtype == DType::kQ4;
}
constexpr bool IsQuantisedKv(DType dtype) {
  return dtype == DType::kQ8 || dtype == DType::kQ4;
}

// "bf16", "q8,q4", "q4/32", "q4-h": K and V, values that share a scale, and K of 4 bits without its rotation.
std::string NameOf(const KvFormat& format);
std::optional<KvFormat> ParseKvFormat(std::string_view name);

}  // namespace attend
