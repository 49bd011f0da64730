// Element types of tensors in files, weights and caches, with their exact size in bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace attend {

// q4_0 to q8_0 are the 32-value blocks of GGUF files, of which q5_0, q5_1 and fp8 are only planned with; q8 and q4 the
// cells of our cache, whose scales are kept apart (tensor/cache_descriptor.h). Foreign: of a file, in a type that is
// not computed with here; such a tensor's bytes are known, its values are not.
enum class DType {
  kF32,
  kF16,
  kBf16,
  kF64,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kBool,
  kQ4_0,
  kQ4_1,
  kQ8_0,
  kQ8,
  kQ4,
  kQ5_0,
  kQ5_1,
  kFp8,
  kForeign
};

struct DTypeInfo {
  std::string_view name;
  uint32_t block_values;  // values stored together, 1 for plain types
  uint32_t block_bytes;
};

constexpr DTypeInfo InfoOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return {"f32", 1, 4};
    case DType::kF16:
      return {"f16", 1, 2};
    case DType::kBf16:
      return {"bf16", 1, 2};
    case DType::kF64:
      return {"f64", 1, 8};
    case DType::kI8:
      return {"i8", 1, 1};
    case DType::kI16:
      return {"i16", 1, 2};
    case DType::kI32:
      return {"i32", 1, 4};
    case DType::kI64:
      return {"i64", 1, 8};
    case DType::kU8:
      return {"u8", 1, 1};
    case DType::kBool:
      return {"bool", 1, 1};
    case DType::kQ4_0:
      return {"q4_0", 32, 18};
    case DType::kQ4_1:
      return {"q4_1", 32, 20};
    case DType::kQ8_0:
      return {"q8_0", 32, 34};
    case DType::kQ8:
      return {"q8", 1, 1};
    case DType::kQ4:
      return {"q4", 2, 1};
    case DType::kQ5_0:
      return {"q5_0", 32, 22};
    case DType::kQ5_1:
      return {"q5_1", 32, 24};
    case DType::kFp8:
      return {"fp8", 1, 1};
    case DType::kForeign:
      return {"foreign", 1, 0};
  }
  return {"unknown", 1, 0};
}

constexpr std::string_view NameOf(DType dtype) {
  return InfoOf(dtype).name;
}

}  // namespace attend
