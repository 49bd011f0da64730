#include "kernels/reference.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"

namespace attend {
namespace {

template <class T>
T LoadAt(std::span<const uint8_t> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Value i of a GGUF block: q4_0 d (q - 8); q4_1 d q + m; q8_0 d q. Byte b holds values b (low nibble) and b + 16
// (high).
double BlockValue(DType dtype, std::span<const uint8_t> block, size_t i) {
  const double scale = HalfToFloat(LoadAt<uint16_t>(block, 0));
  if (dtype == DType::kQ8_0) return scale * static_cast<int8_t>(block[2 + i]);
  const size_t first = dtype == DType::kQ4_1 ? 4 : 2;
  const int byte = block[first + i % 16];
  const int nibble = i < 16 ? byte & 15 : byte >> 4;
  if (dtype == DType::kQ4_0) return scale * (nibble - 8);
  return scale * nibble + static_cast<double>(HalfToFloat(LoadAt<uint16_t>(block, 2)));
}

double ValueAt(DType dtype, std::span<const uint8_t> bytes, size_t i) {
  switch (dtype) {
    case DType::kF32:
      return LoadAt<float>(bytes, 4 * i);
    case DType::kF16:
      return HalfToFloat(LoadAt<uint16_t>(bytes, 2 * i));
    case DType::kBf16:
      return Bf16ToFloat(LoadAt<uint16_t>(bytes, 2 * i));
    default:
      break;
  }
  const size_t block_bytes = InfoOf(dtype).block_bytes;
  return BlockValue(dtype, bytes.subspan(i / 32 * block_bytes, block_bytes), i % 32);
}

}  // namespace

std::vector<double> ReferenceWeights(DType dtype, std::span<const uint8_t> bytes, int64_t num_outputs,
                                     int64_t num_inputs) {
  std::vector<double> weights(static_cast<size_t>(num_outputs * num_inputs));
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = ValueAt(dtype, bytes, i);
  return weights;
}

std::vector<double> ReferenceMatmul(std::span<const float> a, int64_t a_stride, int64_t rows,
                                    std::span<const double> weights, int64_t num_outputs, int64_t num_inputs) {
  std::vector<double> out;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < num_outputs; ++c) {
      double sum = 0;
      for (int64_t k = 0; k < num_inputs; ++k) sum += double{a[r * a_stride + k]} * weights[c * num_inputs + k];
      out.push_back(sum);
    }
  }
  return out;
}

std::vector<double> ReferenceRmsNorm(std::span<const float> x, std::span<const float> weight, double epsilon) {
  double squares = 0;
  for (float v : x) squares += double{v} * v;
  const double inverse = 1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
  std::vector<double> out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(x[i] * inverse * weight[i]);
  return out;
}

std::vector<double> ReferenceRope(std::span<const float> x, std::span<const float> cosine,
                                  std::span<const float> sine) {
  const size_t half = x.size() / 2;
  std::vector<double> out(x.size());
  for (size_t i = 0; i < half; ++i) {
    const double a = x[i], b = x[i + half];
    out[i] = a * cosine[i] - b * sine[i];
    out[i + half] = b * cosine[i] + a * sine[i];
  }
  return out;
}

std::vector<double> ReferenceSwiGlu(std::span<const float> gate, std::span<const float> up) {
  std::vector<double> out;
  for (size_t i = 0; i < gate.size(); ++i) out.push_back(gate[i] / (1 + std::exp(-double{gate[i]})) * up[i]);
  return out;
}

double ReferenceLogSumExp(std::span<const float> x) {
  double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
  for (float v : x) maximum = std::max(maximum, double{v});
  if (std::isinf(maximum)) return maximum;
  for (float v : x) sum += std::exp(v - maximum);
  return maximum + std::log(sum);
}

}  // namespace attend
