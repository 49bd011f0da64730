#include "kernels/packed_matrix.h"

#include <cstring>
#include <string>

#include "base/checked_math.h"
#include "base/half.h"
#include "tensor/packed_bytes.h"

namespace attend {
namespace {

struct PanelFormat {
  PanelKind kind;
  bool has_minimum;
  float offset;
};

std::optional<PanelFormat> FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return PanelFormat{PanelKind::kF32, false, 0};
    case DType::kF16:
      return PanelFormat{PanelKind::kF16, false, 0};
    case DType::kBf16:
      return PanelFormat{PanelKind::kBf16, false, 0};
    case DType::kQ4_0:
      return PanelFormat{PanelKind::kQ4, false, 8};
    case DType::kQ4_1:
      return PanelFormat{PanelKind::kQ4, true, 0};
    case DType::kQ8_0:
      return PanelFormat{PanelKind::kQ8, false, 0};
    default:
      return std::nullopt;
  }
}

// Bytes of the cells of one block of 32 inputs x 64 outputs, and of the block in all.
int64_t CellBytes(PanelKind kind) {
  return kind == PanelKind::kQ4 ? 16 * kPanelColumns : 32 * kPanelColumns;
}
int64_t BlockBytes(const PanelFormat& format) {
  return CellBytes(format.kind) + 2 * kPanelColumns * (format.has_minimum ? 2 : 1);
}

uint16_t LoadU16(const uint8_t* p) {
  uint16_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

}  // namespace

Result<PackedMatrix> PackedMatrix::Pack(DType dtype, std::span<const uint8_t> bytes, int64_t num_outputs,
                                        int64_t num_inputs, RowOrder order, const char* name, ThreadPool& pool) {
  const auto format = FormatOf(dtype);
  const DTypeInfo info = InfoOf(dtype);
  const int64_t row_bytes = num_inputs / info.block_values * info.block_bytes;
  if (!format || num_inputs % info.block_values != 0 || static_cast<int64_t>(bytes.size()) != num_outputs * row_bytes) {
    return tl::unexpected(Error{.code = ErrorCode::kUnsupportedTensorType,
                                .where = "weights",
                                .subject = name,
                                .expected = "f32, f16, bf16, q4_0, q4_1 or q8_0 in whole rows",
                                .found = std::string(info.name) + ", " + std::to_string(bytes.size()) + " bytes",
                                .hint = {}});
  }
  PackedMatrix m;
  m.kind_ = format->kind;
  m.has_minimum_ = format->has_minimum;
  m.offset_ = format->offset;
  m.num_inputs_ = num_inputs;
  m.num_outputs_ = num_outputs;
  m.panel_bytes_ = static_cast<int64_t>(PackedPanelBytes(dtype, static_cast<uint64_t>(num_inputs)));
  ATTEND_ASSIGN_OR_RETURN(m.data_,
                          AlignedBuffer<uint8_t>::Make(static_cast<size_t>(m.num_panels() * m.panel_bytes_), name));
  pool.ParallelFor(m.num_panels(), [&](int64_t panel, int) {
    const int64_t end = std::min(num_outputs, (panel + 1) * kPanelColumns);
    for (int64_t output = panel * kPanelColumns; output < end; ++output) {
      m.PackOutput(output, dtype, bytes.data() + order.SourceRow(output) * row_bytes);
    }
  });
  return m;
}

void PackedMatrix::PackOutput(int64_t output, DType dtype, const uint8_t* row) {
  uint8_t* panel = data_.data() + output / kPanelColumns * panel_bytes_;
  const int64_t column = output % kPanelColumns;
  if (kind_ == PanelKind::kF32) {
    for (int64_t i = 0; i < num_inputs_; ++i) std::memcpy(panel + (i * kPanelColumns + column) * 4, row + i * 4, 4);
    return;
  }
  if (kind_ == PanelKind::kF16) {
    for (int64_t i = 0; i < num_inputs_; ++i) std::memcpy(panel + (i * kPanelColumns + column) * 2, row + i * 2, 2);
    return;
  }
  if (kind_ == PanelKind::kBf16) {
    for (int64_t i = 0; i < num_inputs_; ++i) {
      std::memcpy(panel + ((i / 2 * kPanelColumns + column) * 2 + i % 2) * 2, row + i * 2, 2);
    }
    return;
  }
  const int64_t cell_bytes = CellBytes(kind_);
  const int64_t block_bytes = BlockBytes({kind_, has_minimum_, offset_});
  const int64_t source_bytes = InfoOf(dtype).block_bytes;
  for (int64_t block = 0; block < num_inputs_ / kBlockInputs; ++block) {
    const uint8_t* in = row + block * source_bytes;
    uint8_t* cells = panel + block * block_bytes;
    std::memcpy(cells + cell_bytes + 2 * column, in, 2);
    if (has_minimum_) std::memcpy(cells + cell_bytes + 2 * kPanelColumns + 2 * column, in + 2, 2);
    const uint8_t* values = in + (has_minimum_ ? 4 : 2);
    if (kind_ == PanelKind::kQ8) {
      for (int64_t i = 0; i < kBlockInputs; ++i) cells[i * kPanelColumns + column] = values[i];
      continue;
    }
    // Byte b of the file holds value b in its low and value b + 16 in its high nibble.
    for (int64_t group = 0; group < 4; ++group) {
      uint32_t word = 0;
      for (int64_t i = 0; i < 8; ++i) {
        const int64_t input = 8 * group + i;
        const uint32_t nibble = input < 16 ? values[input] & 15u : values[input - 16] >> 4;
        word |= nibble << (4 * i);
      }
      std::memcpy(cells + 4 * (group * kPanelColumns + column), &word, 4);
    }
  }
}

void PackedMatrix::UnpackOutput(int64_t output, float* out) const {
  const uint8_t* panel = data_.data() + output / kPanelColumns * panel_bytes_;
  const int64_t column = output % kPanelColumns;
  const int64_t cell_bytes = CellBytes(kind_);
  const int64_t block_bytes = BlockBytes({kind_, has_minimum_, offset_});
  for (int64_t i = 0; i < num_inputs_; ++i) {
    if (kind_ == PanelKind::kF32) {
      std::memcpy(out + i, panel + (i * kPanelColumns + column) * 4, 4);
    } else if (kind_ == PanelKind::kF16) {
      out[i] = HalfToFloat(LoadU16(panel + (i * kPanelColumns + column) * 2));
    } else if (kind_ == PanelKind::kBf16) {
      out[i] = Bf16ToFloat(LoadU16(panel + ((i / 2 * kPanelColumns + column) * 2 + i % 2) * 2));
    } else {
      const uint8_t* cells = panel + i / kBlockInputs * block_bytes;
      const int64_t in_block = i % kBlockInputs;
      const float scale = HalfToFloat(LoadU16(cells + cell_bytes + 2 * column));
      const float minimum =
          has_minimum_ ? HalfToFloat(LoadU16(cells + cell_bytes + 2 * kPanelColumns + 2 * column)) : 0.0f;
      float value = 0;
      if (kind_ == PanelKind::kQ8) {
        value = static_cast<int8_t>(cells[in_block * kPanelColumns + column]);
      } else {
        uint32_t word;
        std::memcpy(&word, cells + 4 * (in_block / 8 * kPanelColumns + column), 4);
        value = static_cast<float>((word >> (4 * (in_block % 8))) & 15u) - offset_;
      }
      out[i] = scale * value + minimum;
    }
  }
}

bool PackedMatrix::HasNonfinite() const {
  const auto half_is_finite = [](const uint8_t* p) { return (LoadU16(p) & 0x7c00u) != 0x7c00u; };
  const auto high_is_finite = [](const uint8_t* p) {
    return (LoadU16(p) & 0x7f80u) != 0x7f80u;
  };  // bf16, upper half of f32
  const int64_t block_bytes = BlockBytes({kind_, has_minimum_, offset_});
  for (int64_t panel = 0; panel < num_panels(); ++panel) {
    const uint8_t* begin = data_.data() + panel * panel_bytes_;
    const uint8_t* end = begin + panel_bytes_;
    switch (kind_) {
      case PanelKind::kF32:
        for (const uint8_t* p = begin; p < end; p += 4) {
          if (!high_is_finite(p + 2)) return true;
        }
        break;
      case PanelKind::kF16:
      case PanelKind::kBf16:
        for (const uint8_t* p = begin; p < end; p += 2) {
          if (kind_ == PanelKind::kF16 ? !half_is_finite(p) : !high_is_finite(p)) return true;
        }
        break;
      case PanelKind::kQ4:
      case PanelKind::kQ8:  // the integers are finite; scales and minima lie at the end of each block
        for (const uint8_t* block = begin; block < end; block += block_bytes) {
          for (const uint8_t* p = block + CellBytes(kind_); p < block + block_bytes; p += 2) {
            if (!half_is_finite(p)) return true;
          }
        }
        break;
    }
  }
  return false;
}

}  // namespace attend
