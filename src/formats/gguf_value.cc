#include "formats/gguf_value.h"

#include <array>

namespace attend {
namespace {

struct TypeInfo {
  std::string_view name;
  uint32_t bytes;
};

constexpr std::array<TypeInfo, kNumGgufTypes> kTypes = {{{"uint8", 1},
                                                         {"int8", 1},
                                                         {"uint16", 2},
                                                         {"int16", 2},
                                                         {"uint32", 4},
                                                         {"int32", 4},
                                                         {"float32", 4},
                                                         {"bool", 1},
                                                         {"string", 0},
                                                         {"array", 0},
                                                         {"uint64", 8},
                                                         {"int64", 8},
                                                         {"float64", 8}}};

struct TensorTypeRow {
  uint32_t id;
  GgufTensorType type;
};

constexpr GgufTensorType Computed(DType dtype) {
  const DTypeInfo info = InfoOf(dtype);
  return {info.name, dtype, info.block_values, info.block_bytes};
}
constexpr GgufTensorType Foreign(std::string_view name, uint32_t block_values, uint32_t block_bytes) {
  return {name, DType::kForeign, block_values, block_bytes};
}

// ggml.h of 2026. Removed: 4, 5 (q4_2, q4_3), 31-33 (q4_0_4_4 ...), 36-38 (iq4_nl_4_4 ...).
constexpr TensorTypeRow kTensorTypes[] = {
    {0, Computed(DType::kF32)},        {1, Computed(DType::kF16)},        {2, Computed(DType::kQ4_0)},
    {3, Computed(DType::kQ4_1)},       {6, Foreign("q5_0", 32, 22)},      {7, Foreign("q5_1", 32, 24)},
    {8, Computed(DType::kQ8_0)},       {9, Foreign("q8_1", 32, 36)},      {10, Foreign("q2_K", 256, 84)},
    {11, Foreign("q3_K", 256, 110)},   {12, Foreign("q4_K", 256, 144)},   {13, Foreign("q5_K", 256, 176)},
    {14, Foreign("q6_K", 256, 210)},   {15, Foreign("q8_K", 256, 292)},   {16, Foreign("iq2_xxs", 256, 66)},
    {17, Foreign("iq2_xs", 256, 74)},  {18, Foreign("iq3_xxs", 256, 98)}, {19, Foreign("iq1_s", 256, 50)},
    {20, Foreign("iq4_nl", 32, 18)},   {21, Foreign("iq3_s", 256, 110)},  {22, Foreign("iq2_s", 256, 82)},
    {23, Foreign("iq4_xs", 256, 136)}, {24, Computed(DType::kI8)},        {25, Computed(DType::kI16)},
    {26, Computed(DType::kI32)},       {27, Computed(DType::kI64)},       {28, Computed(DType::kF64)},
    {29, Foreign("iq1_m", 256, 56)},   {30, Computed(DType::kBf16)},      {34, Foreign("tq1_0", 256, 54)},
    {35, Foreign("tq2_0", 256, 66)},   {39, Foreign("mxfp4", 32, 17)},    {40, Foreign("nvfp4", 64, 36)},
    {41, Foreign("q1_0", 128, 18)},    {42, Foreign("q2_0", 64, 18)},
};

}  // namespace

std::string_view NameOf(GgufType type) {
  return kTypes[static_cast<uint32_t>(type)].name;
}

uint32_t BytesOf(GgufType type) {
  return kTypes[static_cast<uint32_t>(type)].bytes;
}

bool IsInteger(GgufType type) {
  return type <= GgufType::kInt32 || type == GgufType::kUint64 || type == GgufType::kInt64;
}

std::optional<GgufTensorType> FindGgufTensorType(uint32_t id) {
  for (const TensorTypeRow& row : kTensorTypes) {
    if (row.id == id) return row.type;
  }
  return std::nullopt;
}

}  // namespace attend
