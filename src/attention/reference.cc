#include "attention/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.h"

namespace attend {

VisibleFn CausalVisible(int64_t q_len, int64_t kv_len, int64_t window) {
  return [=](int64_t query, int64_t key) {
    const int64_t position = query + kv_len - q_len;
    return key <= position && (window == 0 || key > position - window);
  };
}

VisibleFn AllVisible() {
  return [](int64_t, int64_t) { return true; };
}

ReferenceResult ReferenceAttention(const ReferenceShape& s, std::span<const float> q, std::span<const float> k,
                                   std::span<const float> v, double scale, const VisibleFn& visible) {
  const int64_t group = s.num_q_heads / s.num_kv_heads;
  ReferenceResult result;
  result.out.assign(static_cast<size_t>(s.q_len * s.num_q_heads * s.v_head_dim), 0.0);
  result.weights.assign(static_cast<size_t>(s.q_len * s.num_q_heads * s.kv_len), 0.0);
  for (int64_t row = 0; row < s.q_len * s.num_q_heads; ++row) {
    const int64_t query = row / s.num_q_heads, kv_head = row % s.num_q_heads / group;
    double* p = result.weights.data() + row * s.kv_len;
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t j = 0; j < s.kv_len; ++j) {
      if (!visible(query, j)) continue;
      for (int64_t d = 0; d < s.head_dim; ++d)
        p[j] += double{q[row * s.head_dim + d]} * k[(j * s.num_kv_heads + kv_head) * s.head_dim + d];
      p[j] *= scale;
      maximum = std::isnan(p[j]) ? p[j] : std::max(maximum, p[j]);
    }
    for (int64_t j = 0; j < s.kv_len; ++j) {
      if (!visible(query, j)) continue;
      p[j] = std::exp(p[j] - maximum);
      sum += p[j];
    }
    for (int64_t j = 0; j < s.kv_len; ++j) {
      if (!visible(query, j)) continue;
      p[j] /= sum;
      const float* value = v.data() + (j * s.num_kv_heads + kv_head) * s.v_head_dim;
      for (int64_t c = 0; c < s.v_head_dim; ++c) result.out[row * s.v_head_dim + c] += p[j] * value[c];
    }
    result.lse.push_back(maximum + std::log(sum));  // -inf + -inf for a row that sees nothing
  }
  return result;
}

std::vector<float> NaiveBf16Attention(const ReferenceShape& s, std::span<const float> q, std::span<const float> k,
                                      std::span<const float> v, float scale, const VisibleFn& visible) {
  const int64_t group = s.num_q_heads / s.num_kv_heads;
  std::vector<float> out(static_cast<size_t>(s.q_len * s.num_q_heads * s.v_head_dim), 0.0f);
  std::vector<float> p(static_cast<size_t>(s.kv_len));
  for (int64_t row = 0; row < s.q_len * s.num_q_heads; ++row) {
    const int64_t query = row / s.num_q_heads, kv_head = row % s.num_q_heads / group;
    float maximum = -std::numeric_limits<float>::infinity(), sum = 0;
    for (int64_t j = 0; j < s.kv_len; ++j) {
      if (!visible(query, j)) continue;
      float dot = 0;
      for (int64_t d = 0; d < s.head_dim; ++d) {
        dot += RoundToBf16(q[row * s.head_dim + d]) * RoundToBf16(k[(j * s.num_kv_heads + kv_head) * s.head_dim + d]);
      }
      p[j] = dot * scale;
      maximum = std::max(maximum, p[j]);
    }
    for (int64_t j = 0; j < s.kv_len; ++j) {
      if (visible(query, j)) sum += p[j] = std::exp(p[j] - maximum);
    }
    float* o = out.data() + row * s.v_head_dim;
    for (int64_t j = 0; j < s.kv_len; ++j) {
      if (!visible(query, j)) continue;
      const float weight = RoundToBf16(p[j] / sum);
      const float* value = v.data() + (j * s.num_kv_heads + kv_head) * s.v_head_dim;
      for (int64_t c = 0; c < s.v_head_dim; ++c) o[c] += weight * RoundToBf16(value[c]);
    }
    for (int64_t c = 0; c < s.v_head_dim; ++c) o[c] = RoundToBf16(o[c]);
  }
  return out;
}

}  // namespace attend
