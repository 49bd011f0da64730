// Numerics classes (ARCHITECTURE.md, Numerics): the same on every instruction set.
#pragma once

#include <optional>
#include <string_view>

namespace attend {

enum class Compute {
  kF32,   // nothing is rounded below float32
  kBf16,  // activations entering a matmul, q, K, V and attention weights are rounded to bf16; sums are float32
  kInt8,  // as bf16, and where the cache holds 8 or 4 bits q and weights are rounded to 8 bits; integer sums
};

constexpr std::string_view NameOf(Compute compute) {
  return compute == Compute::kF32 ? "f32" : compute == Compute::kBf16 ? "bf16" : "int8";
}

// Whether activations are rounded to bf16 before a matmul over weights.
constexpr bool RoundsToBf16(Compute compute) {
  return compute != Compute::kF32;
}

constexpr std::optional<Compute> ParseCompute(std::string_view name) {
  for (Compute compute : {Compute::kF32, Compute::kBf16, Compute::kInt8}) {
    if (NameOf(compute) == name) return compute;
  }
  return std::nullopt;
}

}  // namespace attend
