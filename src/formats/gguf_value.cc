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

// ggml.h of 2026. Removed: 4, 5 (q4_2, q4_3), 31-33 (q4_0_4_4 ...), 36-38 (iq4_nl_4_4 ...).
constexpr TensorTypeRow kTensorTypes[] = {
    {0, {"f32", DType::kF32}},
    {1, {"f16", DType::kF16}},
    {2, {"q4_0", DType::kQ4_0}},
    {3, {"q4_1", DType::kQ4_1}},
    {6, {"q5_0", {}}},
    {7, {"q5_1", {}}},
    {8, {"q8_0", DType::kQ8_0}},
    {9, {"q8_1", {}}},
    {10, {"q2_K", {}}},
    {11, {"q3_K", {}}},
    {12, {"q4_K", {}}},
    {13, {"q5_K", {}}},
    {14, {"q6_K", {}}},
    {15, {"q8_K", {}}},
    {16, {"iq2_xxs", {}}},
    {17, {"iq2_xs", {}}},
    {18, {"iq3_xxs", {}}},
    {19, {"iq1_s", {}}},
    {20, {"iq4_nl", {}}},
    {21, {"iq3_s", {}}},
    {22, {"iq2_s", {}}},
    {23, {"iq4_xs", {}}},
    {24, {"i8", DType::kI8}},
    {25, {"i16", DType::kI16}},
    {26, {"i32", DType::kI32}},
    {27, {"i64", DType::kI64}},
    {28, {"f64", DType::kF64}},
    {29, {"iq1_m", {}}},
    {30, {"bf16", DType::kBf16}},
    {34, {"tq1_0", {}}},
    {35, {"tq2_0", {}}},
    {39, {"mxfp4", {}}},
    {40, {"nvfp4", {}}},
    {41, {"q1_0", {}}},
    {42, {"q2_0", {}}},
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
