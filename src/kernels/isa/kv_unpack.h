// A K or V tile of any format as floats: K [k_dim][64], V [64][v_width]. Values exactly as stored.
#pragma once

#include "kernels/isa/weights_body.h"

namespace attend {
namespace {

inline int64_t CellBytes(CellFormat format, int64_t cells) {
  switch (format) {
    case CellFormat::kF32:
      return 4 * cells;
    case CellFormat::kQ8:
      return cells;
    case CellFormat::kQ4:
      return cells / 2;
    default:
      return 2 * cells;
  }
}
inline const uint16_t* KScales(const KvTiles& kv, const uint8_t* k) {
  return reinterpret_cast<const uint16_t*>(k + CellBytes(kv.k_format, kPanelColumns * kv.k_dim));
}
inline const uint16_t* VScales(const KvTiles& kv, const uint8_t* v) {
  return reinterpret_cast<const uint16_t*>(v + CellBytes(kv.v_format, kPanelColumns * kv.v_width));
}
inline bool IsQuantised(CellFormat format) {
  return format == CellFormat::kQ8 || format == CellFormat::kQ4;
}

template <class V>
void UnpackKQ8(const KvTiles& kv, const uint8_t* k, int64_t columns, float* out) {
  for (int64_t d = 0; d < kv.k_dim; d += 4) {
    const uint16_t* scales = KScales(kv, k) + d / kv.k_group * kPanelColumns;
    for (int64_t c = 0; c < columns; c += V::kLanes) {
      const typename V::I codes = V::LoadWords(k + (d * kPanelColumns + 4 * c));
      const typename V::F scale = V::LoadF16(scales + c);
#pragma GCC unroll 4
      for (int b = 0; b < 4; ++b) {
        V::Store(out + (d + b) * kPanelColumns + c, V::Mul(V::Sub(V::UnsignedByte(codes, b), V::Set1(128.0f)), scale));
      }
    }
  }
}

template <class V>
void UnpackKQ4(const KvTiles& kv, const uint8_t* k, int64_t columns, float* out) {
  const auto table = V::MakeNibbleTable(8.0f);
  for (int64_t d = 0; d < kv.k_dim; d += 8) {
    const uint16_t* scales = KScales(kv, k) + d / kv.k_group * kPanelColumns;
    for (int64_t c = 0; c < columns; c += V::kLanes) {
      const auto words = V::LoadNibbles(k + (d / 2 * kPanelColumns + 4 * c));
      const typename V::F scale = V::LoadF16(scales + c);
#pragma GCC unroll 4
      for (int b = 0; b < 4; ++b) {
        V::Store(out + (d + b) * kPanelColumns + c, V::Mul(V::Nibble(words, 2 * b, table), scale));
        V::Store(out + (d + 4 + b) * kPanelColumns + c, V::Mul(V::Nibble(words, 2 * b + 1, table), scale));
      }
    }
  }
}

inline float HalfAt(const uint16_t* halves, int64_t i) {
  const uint32_t half = halves[i], magnitude = (half & 0x7fffu) << 13;
  float value;
  __builtin_memcpy(&value, &magnitude, sizeof value);
  value *= 0x1p112f;
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  bits |= (magnitude >= 0x0f800000u ? 0x7f800000u : 0u) | (half & 0x8000u) << 16;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

template <class V>
void UnpackVQ8(const KvTiles& kv, const uint8_t* v, int64_t keys, float* out) {
  for (int64_t t = 0; t < keys; t += 4) {
    for (int64_t c = 0; c < kv.v_width; c += V::kLanes) {
      const typename V::I codes = V::LoadWords(v + (t * kv.v_width + 4 * c));
      const uint16_t* scales = VScales(kv, v) + c / kv.v_group * kPanelColumns + t;
#pragma GCC unroll 4
      for (int b = 0; b < 4; ++b) {
        V::Store(out + (t + b) * kv.v_width + c, V::Mul(V::SignedByte(codes, b), V::Set1(HalfAt(scales, b))));
      }
    }
  }
}

template <class V>
void UnpackVQ4(const KvTiles& kv, const uint8_t* v, int64_t keys, float* out) {
  const auto table = V::MakeNibbleTable(8.0f);
  for (int64_t t = 0; t < keys; t += 8) {
    for (int64_t c = 0; c < kv.v_width; c += V::kLanes) {
      const auto words = V::LoadNibbles(v + (t / 2 * kv.v_width + 4 * c));
      const uint16_t* scales = VScales(kv, v) + c / kv.v_group * kPanelColumns + t;
#pragma GCC unroll 4
      for (int b = 0; b < 4; ++b) {
        V::Store(out + (t + b) * kv.v_width + c, V::Mul(V::Nibble(words, 2 * b, table), V::Set1(HalfAt(scales, b))));
        V::Store(out + (t + 4 + b) * kv.v_width + c,
                 V::Mul(V::Nibble(words, 2 * b + 1, table), V::Set1(HalfAt(scales, 4 + b))));
      }
    }
  }
}

// A plain row of any float type with zeros behind it; the row itself where it can be read in place.
template <class V>
const float* PlainRow(CellFormat format, const KvRows& rows, int64_t token, int64_t padded, float* buffer) {
  const uint8_t* row = rows.data + token * rows.stride_bytes;
  const bool in_place = format == CellFormat::kF32 && rows.width == padded;
  if (in_place) return reinterpret_cast<const float*>(row);
  for (int64_t i = 0; i < padded; ++i) {
    if (i >= rows.width) {
      buffer[i] = 0;
    } else if (format == CellFormat::kF32) {
      __builtin_memcpy(buffer + i, row + 4 * i, 4);
    } else {
      uint16_t half;
      __builtin_memcpy(&half, row + 2 * i, 2);
      const uint32_t word = uint32_t{half} << 16;
      if (format == CellFormat::kF16) {
        buffer[i] = HalfAt(&half, 0);
      } else {
        __builtin_memcpy(buffer + i, &word, 4);
      }
    }
  }
  return buffer;
}

inline constexpr int64_t kMostDimensions = 576;

// K of one tile as floats [k_dim][64]; `columns` of them (a multiple of 16), the first `keys` real.
template <class V>
void UnpackK(const KvTiles& kv, int64_t tile, int64_t keys, int64_t columns, float* out) {
  if (kv.blocks == nullptr) {
    float buffer[kMostDimensions];
    for (int64_t key = 0; key < columns; ++key) {
      const bool real = key < keys;
      const float* row =
          real ? PlainRow<V>(kv.k_format, kv.k_rows, tile * kPanelColumns + key, kv.k_dim, buffer) : nullptr;
      for (int64_t d = 0; d < kv.k_dim; ++d) out[d * kPanelColumns + key] = real ? row[d] : 0.0f;
    }
    return;
  }
  const uint8_t* k = kv.blocks[tile] + kv.k_offset;
  switch (kv.k_format) {
    case CellFormat::kBf16:
      return UnpackPairs<V>(reinterpret_cast<const uint16_t*>(k), kPanelColumns, columns, kv.k_dim, out);
    case CellFormat::kF16:
      return UnpackHalves<V>(reinterpret_cast<const uint16_t*>(k), kPanelColumns, columns, kv.k_dim, out);
    case CellFormat::kQ8:
      return UnpackKQ8<V>(kv, k, columns, out);
    case CellFormat::kQ4:
      return UnpackKQ4<V>(kv, k, columns, out);
    case CellFormat::kF32:
      for (int64_t i = 0; i < kv.k_dim * kPanelColumns; i += V::kLanes) {
        V::Store(out + i, V::Load(reinterpret_cast<const float*>(k) + i));
      }
      return;
  }
}

// V of the first `keys` tokens of one tile as floats [keys][v_width]; k_tile is where K may be unpacked for v_in_k.
// Rows up to a whole number of octets are written.
template <class V>
void UnpackV(const KvTiles& kv, int64_t tile, int64_t keys, float* k_tile, float* out) {
  if (kv.v_in_k) {
    UnpackK<V>(kv, tile, keys, (keys + 15) / 16 * 16, k_tile);
    for (int64_t c = 0; c < kv.v_width; ++c) {
      for (int64_t key = 0; key < keys; ++key) out[key * kv.v_width + c] = k_tile[c * kPanelColumns + key];
    }
    return;
  }
  if (kv.blocks == nullptr) {
    for (int64_t key = 0; key < keys; ++key) {
      float* to = out + key * kv.v_width;
      const float* row = PlainRow<V>(kv.v_format, kv.v_rows, tile * kPanelColumns + key, kv.v_width, to);
      for (int64_t c = 0; row != to && c < kv.v_width; c += V::kLanes) V::Store(to + c, V::Load(row + c));
    }
    return;
  }
  const uint8_t* v = kv.blocks[tile] + kv.v_offset;
  switch (kv.v_format) {
    case CellFormat::kBf16:
      return UnpackPairs<V>(reinterpret_cast<const uint16_t*>(v), kv.v_width, kv.v_width, keys, out);
    case CellFormat::kF16:
      return UnpackHalves<V>(reinterpret_cast<const uint16_t*>(v), kv.v_width, kv.v_width, keys, out);
    case CellFormat::kQ8:
      return UnpackVQ8<V>(kv, v, keys, out);
    case CellFormat::kQ4:
      return UnpackVQ4<V>(kv, v, keys, out);
    case CellFormat::kF32:
      for (int64_t i = 0; i < keys * kv.v_width; i += V::kLanes) {
        V::Store(out + i, V::Load(reinterpret_cast<const float*>(v) + i));
      }
      return;
  }
}

}  // namespace
}  // namespace attend
