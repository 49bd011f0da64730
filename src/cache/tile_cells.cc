#include "cache/tile_cells.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/half.h"
#include "kernels/hadamard.h"

namespace attend {
namespace {

constexpr int64_t kMostDimensions = 576;

// The half with which codes from -least to most reach every value.
uint16_t ScaleFor(const float* x, int64_t n, float least, float most) {
  float low = 0, high = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) return FloatToHalf(NAN);
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  const float wanted = std::max(-low / least, high / most);
  uint16_t half = FloatToHalf(wanted);
  if (wanted < 0x1p-14f && HalfToFloat(half) < wanted) ++half;  // few bits there: never fall short
  return std::isinf(HalfToFloat(half)) ? FloatToHalf(NAN) : half;
}

}  // namespace

TileSide TileSide::Keys(const CacheDescriptor& d) {
  return {.is_key = true,
          .dtype = d.format.k,
          .head_dim = d.k_head_dim,
          .width = static_cast<int64_t>(CacheDescriptor::Padded(d.k_head_dim)),
          .group = static_cast<int64_t>(d.GroupOf(d.k_head_dim)),
          .rotated = d.format.rotate_k};
}
TileSide TileSide::Values(const CacheDescriptor& d) {
  return {.is_key = false,
          .dtype = d.format.v,
          .head_dim = d.v_head_dim,
          .width = static_cast<int64_t>(CacheDescriptor::Padded(d.v_head_dim)),
          .group = static_cast<int64_t>(d.GroupOf(d.v_head_dim)),
          .rotated = false};
}

// Index of value i of a token: of floats, halves, bytes; for q4 twice the byte, plus 1 for its high half.
int64_t TileSide::CellIndex(int64_t slot, int64_t i) const {
  const int64_t columns = is_key ? int64_t{kTileTokens} : width;  // K: inputs are dimensions; V: inputs are tokens
  const int64_t input = is_key ? i : slot, column = is_key ? slot : i;
  switch (dtype) {
    case DType::kBf16:
      return (input / 2 * columns + column) * 2 + input % 2;
    case DType::kQ8:
      return (input / 4 * columns + column) * 4 + input % 4;
    case DType::kQ4:
      return ((input / 8 * columns + column) * 4 + input % 4) * 2 + input / 4 % 2;
    default:
      return input * columns + column;
  }
}

uint16_t* TileSide::ScaleAt(uint8_t* tile, int64_t slot, int64_t i) const {
  uint8_t* scales = tile + CacheDescriptor::CellBytes(static_cast<uint64_t>(width), dtype);
  return reinterpret_cast<uint16_t*>(scales) + i / group * kTileTokens + slot;
}

void TileSide::PackQuantised(uint8_t* tile, int64_t slot, const float* row) const {
  const bool bytes = dtype == DType::kQ8;
  const float least = bytes ? 127.0f : 8.0f, most = bytes ? 127.0f : 7.0f;
  const int zero = bytes ? (is_key ? 128 : 0) : 8;
  for (int64_t first = 0; first < head_dim; first += group) {
    const int64_t count = std::min(group, head_dim - first);
    const uint16_t scale = *ScaleAt(tile, slot, first) = ScaleFor(row + first, count, least, most);
    const float step = HalfToFloat(scale), inverse = step > 0 ? 1.0f / step : 0.0f;  // NaN and 0 store zeros
    for (int64_t i = first; i < first + count; ++i) {
      const float code = inverse > 0 ? std::clamp(std::nearbyint(row[i] * inverse), -least, most) : 0.0f;
      const int cell = static_cast<int>(code) + zero;
      const int64_t at = CellIndex(slot, i);
      if (bytes) {
        tile[at] = static_cast<uint8_t>(cell);
      } else {
        const int shift = static_cast<int>(at % 2) * 4;
        tile[at / 2] = static_cast<uint8_t>((tile[at / 2] & ~(15 << shift)) | cell << shift);
      }
    }
  }
}

void TileSide::Pack(uint8_t* tile, int64_t slot, const float* row) const {
  std::array<float, kMostDimensions> turned;
  if (rotated) {
    std::copy(row, row + head_dim, turned.begin());
    HadamardRotate(turned.data(), head_dim);
    row = turned.data();
  }
  if (IsQuantisedKv(dtype)) return PackQuantised(tile, slot, row);
  for (int64_t i = 0; i < head_dim; ++i) {
    const int64_t at = CellIndex(slot, i);
    if (dtype == DType::kF32) {
      reinterpret_cast<float*>(tile)[at] = row[i];
    } else {
      reinterpret_cast<uint16_t*>(tile)[at] = dtype == DType::kF16 ? FloatToHalf(row[i]) : FloatToBf16(row[i]);
    }
  }
}

void TileSide::Unpack(const uint8_t* tile, int64_t slot, float* row) const {
  for (int64_t i = 0; i < head_dim; ++i) {
    const int64_t at = CellIndex(slot, i);
    const auto scale = [&] { return HalfToFloat(*ScaleAt(const_cast<uint8_t*>(tile), slot, i)); };
    switch (dtype) {
      case DType::kF32:
        row[i] = reinterpret_cast<const float*>(tile)[at];
        break;
      case DType::kF16:
        row[i] = HalfToFloat(reinterpret_cast<const uint16_t*>(tile)[at]);
        break;
      case DType::kQ8:
        row[i] = scale() * static_cast<float>(is_key ? tile[at] - 128 : static_cast<int8_t>(tile[at]));
        break;
      case DType::kQ4:
        row[i] = scale() * static_cast<float>((tile[at / 2] >> (at % 2 * 4) & 15) - 8);
        break;
      default:
        row[i] = Bf16ToFloat(reinterpret_cast<const uint16_t*>(tile)[at]);
    }
  }
  if (rotated) HadamardRotate(row, head_dim);
}

}  // namespace attend
