#include "cache/tile_cells.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/half.h"
#include "kernels/hadamard.h"

namespace attend {
namespace {

constexpr int64_t kMostDimensions = 576;

// Where value p of the 8 in a 4-byte word lies: byte p % 4, its low half for the first four.
struct Nibble {
  int64_t byte;
  int shift;
};
Nibble NibbleAt(int64_t index) {
  const int64_t p = index % 8;
  return {index / 8 * 4 + p % 4, static_cast<int>(p / 4 * 4)};
}

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
          .width = static_cast<int64_t>(PaddedHeadDim(d.k_head_dim)),
          .group = static_cast<int64_t>(d.GroupOf(d.k_head_dim)),
          .rotated = d.format.rotate_k};
}
TileSide TileSide::Values(const CacheDescriptor& d) {
  return {.is_key = false,
          .dtype = d.format.v,
          .head_dim = d.v_head_dim,
          .width = static_cast<int64_t>(PaddedHeadDim(d.v_head_dim)),
          .group = static_cast<int64_t>(d.GroupOf(d.v_head_dim)),
          .rotated = false};
}

// Calls fn(i, index) for the values [begin, end) of a token, `kTogether` inputs of a column side by side: inputs are
// dimensions in K and tokens in V.
template <int kTogether, class Fn>
void TileSide::ForEachCell(int64_t slot, int64_t begin, int64_t end, Fn&& fn) const {
  if (is_key) {
    for (int64_t i = begin; i < end; ++i) {
      fn(i, (i / kTogether * int64_t{kTileTokens} + slot) * kTogether + i % kTogether);
    }
  } else {
    const int64_t first = slot / kTogether * width * kTogether + slot % kTogether;
    for (int64_t i = begin; i < end; ++i) fn(i, first + i * kTogether);
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
    const auto cell_of = [&](int64_t i) {
      const float code = inverse > 0 ? std::clamp(std::nearbyint(row[i] * inverse), -least, most) : 0.0f;
      return static_cast<int>(code) + zero;
    };
    if (bytes) {
      ForEachCell<4>(slot, first, first + count,
                     [&](int64_t i, int64_t at) { tile[at] = static_cast<uint8_t>(cell_of(i)); });
    } else {
      ForEachCell<8>(slot, first, first + count, [&](int64_t i, int64_t at) {
        const Nibble nibble = NibbleAt(at);
        uint8_t& byte = tile[nibble.byte];
        byte = static_cast<uint8_t>((byte & ~(15 << nibble.shift)) | cell_of(i) << nibble.shift);
      });
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
  uint16_t* halves = reinterpret_cast<uint16_t*>(tile);
  switch (dtype) {
    case DType::kQ8:
    case DType::kQ4:
      return PackQuantised(tile, slot, row);
    case DType::kF32:
      return ForEachCell<1>(slot, 0, head_dim,
                            [&](int64_t i, int64_t at) { reinterpret_cast<float*>(tile)[at] = row[i]; });
    case DType::kF16:
      return ForEachCell<1>(slot, 0, head_dim, [&](int64_t i, int64_t at) { halves[at] = FloatToHalf(row[i]); });
    default:
      return ForEachCell<2>(slot, 0, head_dim, [&](int64_t i, int64_t at) { halves[at] = FloatToBf16(row[i]); });
  }
}

void TileSide::Unpack(const uint8_t* tile, int64_t slot, float* row) const {
  const uint16_t* halves = reinterpret_cast<const uint16_t*>(tile);
  const auto scale = [&](int64_t i) { return HalfToFloat(*ScaleAt(const_cast<uint8_t*>(tile), slot, i)); };
  switch (dtype) {
    case DType::kQ8:
      ForEachCell<4>(slot, 0, head_dim, [&](int64_t i, int64_t at) {
        row[i] = scale(i) * static_cast<float>(is_key ? tile[at] - 128 : static_cast<int8_t>(tile[at]));
      });
      break;
    case DType::kQ4:
      ForEachCell<8>(slot, 0, head_dim, [&](int64_t i, int64_t at) {
        const Nibble nibble = NibbleAt(at);
        row[i] = scale(i) * static_cast<float>((tile[nibble.byte] >> nibble.shift & 15) - 8);
      });
      break;
    case DType::kF32:
      ForEachCell<1>(slot, 0, head_dim,
                     [&](int64_t i, int64_t at) { row[i] = reinterpret_cast<const float*>(tile)[at]; });
      break;
    case DType::kF16:
      ForEachCell<1>(slot, 0, head_dim, [&](int64_t i, int64_t at) { row[i] = HalfToFloat(halves[at]); });
      break;
    default:
      ForEachCell<2>(slot, 0, head_dim, [&](int64_t i, int64_t at) { row[i] = Bf16ToFloat(halves[at]); });
  }
  if (rotated) HadamardRotate(row, head_dim);
}

}  // namespace attend
