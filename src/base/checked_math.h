// Sums and products of sizes that came from a file: nothing when they would wrap.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>

namespace attend {

inline std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<uint64_t> CheckedMultiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// sum of index * stride, none negative.
inline std::optional<uint64_t> CheckedOffset(std::initializer_list<std::pair<int64_t, int64_t>> terms) {
  uint64_t sum = 0;
  for (const auto& [index, stride] : terms) {
    const auto term = CheckedMultiply(static_cast<uint64_t>(index), static_cast<uint64_t>(stride));
    if (!term || __builtin_add_overflow(sum, *term, &sum)) return std::nullopt;
  }
  return sum;
}

// Smallest multiple of `alignment` (a power of two) that is at least `value`.
inline std::optional<uint64_t> CheckedAlignUp(uint64_t value, uint64_t alignment) {
  const auto bumped = CheckedAdd(value, alignment - 1);
  if (!bumped) return std::nullopt;
  return *bumped & ~(alignment - 1);
}

inline constexpr uint64_t RoundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace attend
