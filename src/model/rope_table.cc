#include "model/rope_table.h"

#include <cmath>
#include <numbers>

namespace attend {
namespace {

double Llama3(double inv_freq, const RopeScaling& scaling) {
  const double turns =
      scaling.original_max_seq_len * inv_freq / (2 * std::numbers::pi);  // original length / wavelength
  if (turns > scaling.high_freq_factor) return inv_freq;
  if (turns < scaling.low_freq_factor) return inv_freq / scaling.factor;
  const double smooth = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1 - smooth) * inv_freq / scaling.factor + smooth * inv_freq;
}

}  // namespace

std::vector<double> InverseFrequencies(const ModelHeader& header) {
  const uint32_t half = header.rotary_dim / 2;
  const RopeScaling& scaling = header.rope_scaling;
  std::vector<double> inv_freq(half);
  for (uint32_t i = 0; i < half; ++i) {
    const double plain = std::pow(header.rope_theta, -2.0 * i / header.rotary_dim);
    switch (scaling.kind) {
      case RopeScaling::Kind::kNone:
        inv_freq[i] = plain;
        break;
      case RopeScaling::Kind::kLinear:
        inv_freq[i] = plain / scaling.factor;
        break;
      case RopeScaling::Kind::kLlama3:
        inv_freq[i] = Llama3(plain, scaling);
        break;
      case RopeScaling::Kind::kDivisors:
        inv_freq[i] = plain / scaling.divisors[i];
        break;
    }
  }
  return inv_freq;
}

}  // namespace attend
