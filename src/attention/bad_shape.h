// The errors of attention's arguments: attention_bad_shape, and the checks that several arguments share.
#pragma once

#include <string>

#include "base/error.h"
#include "tensor/dtype.h"

namespace attend {

inline tl::unexpected<Error> BadShape(std::string subject, std::string expected, std::string found) {
  return Refused(ErrorCode::kAttentionBadShape, "attention", std::move(subject), std::move(expected), std::move(found));
}

// f32, f16 or bf16 at an address of that type.
inline Result<void> CheckFloats(const std::string& subject, const void* data, DType dtype) {
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBf16) {
    return BadShape(subject + " dtype", "f32, f16 or bf16", std::string(NameOf(dtype)));
  }
  if (reinterpret_cast<uintptr_t>(data) % InfoOf(dtype).block_bytes == 0) return {};
  return BadShape(subject, "aligned to its type", "an address between two values");
}

}  // namespace attend
