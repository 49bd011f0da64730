// Numerics classes (ARCHITECTURE.md, Numerics): the same on every instruction set.
#pragma once

#include <string_view>

namespace attend {

enum class Compute {
  kF32,   // nothing is rounded below float32
  kBf16,  // activations entering a matmul, q, K, V and attention weights are rounded to bf16; sums are float32
};

constexpr std::string_view NameOf(Compute compute) {
  return compute == Compute::kF32 ? "f32" : "bf16";
}

}  // namespace attend
