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

ReferenceResult ReferenceAttention(const ReferenceCall& c) {
  const ReferenceShape& s = c.shape;
  const int64_t group = s.num_q_heads / s.num_kv_heads;
  ReferenceResult result;
  result.out.assign(static_cast<size_t>(s.q_len * s.num_q_heads * s.v_head_dim), 0.0);
  result.weights.assign(static_cast<size_t>(s.q_len * s.num_q_heads * s.kv_len), 0.0);
  for (int64_t row = 0; row < s.q_len * s.num_q_heads; ++row) {
    const int64_t query = row / s.num_q_heads, head = row % s.num_q_heads, kv_head = head / group;
    double* p = result.weights.data() + row * s.kv_len;
    double maximum = c.sinks.empty() ? -std::numeric_limits<double>::infinity() : double{c.sinks[head]}, sum = 0;
    for (int64_t j = 0; j < s.kv_len; ++j) {
      if (!c.visible(query, j)) continue;
      for (int64_t d = 0; d < s.head_dim; ++d)
        p[j] += double{c.q[row * s.head_dim + d]} * c.k[(j * s.num_kv_heads + kv_head) * s.head_dim + d];
      p[j] *= c.scales[head];
      if (c.term) p[j] = c.term(head, query, j, p[j]);
      maximum = std::isnan(p[j]) ? p[j] : std::max(maximum, p[j]);
    }
    const bool empty = maximum == -std::numeric_limits<double>::infinity();
    if (!c.sinks.empty() && !empty) sum = std::exp(double{c.sinks[head]} - maximum);
    for (int64_t j = 0; j < s.kv_len; ++j) {
      const bool seen = c.visible(query, j) && !empty;
      p[j] = seen ? std::exp(p[j] - maximum) : 0.0;
      sum += p[j];
    }
    for (int64_t j = 0; j < s.kv_len; ++j) {
      if (!c.visible(query, j) || empty) continue;
      p[j] /= sum;
      const float* value = c.v.data() + (j * s.num_kv_heads + kv_head) * s.v_head_dim;
      for (int64_t i = 0; i < s.v_head_dim; ++i) result.out[row * s.v_head_dim + i] += p[j] * value[i];
    }
    result.lse.push_back(maximum + std::log(sum));  // -inf + -inf for a row that sees nothing
  }
  return result;
}

namespace {

// x to whole steps of the largest |x| / limit.
void RoundToSteps(std::span<float> x, float limit) {
  float largest = 0;
  for (float value : x) largest = std::max(largest, std::abs(value));
  const float step = largest / limit;
  for (float& value : x) value = step > 0 ? std::nearbyint(value / step) * step : 0.0f;
}

}  // namespace

std::vector<float> NaiveAttention(const ReferenceCall& c, NaiveClass numerics) {
  const ReferenceShape& s = c.shape;
  const int64_t group = s.num_q_heads / s.num_kv_heads;
  const bool rounds = numerics == NaiveClass::kBf16;
  std::vector<float> out(static_cast<size_t>(s.q_len * s.num_q_heads * s.v_head_dim), 0.0f);
  std::vector<float> p(static_cast<size_t>(s.kv_len)), q(static_cast<size_t>(s.head_dim));
  for (int64_t row = 0; row < s.q_len * s.num_q_heads; ++row) {
    const int64_t query = row / s.num_q_heads, head = row % s.num_q_heads, kv_head = head / group;
    for (int64_t d = 0; d < s.head_dim; ++d) {
      const float value = c.q[row * s.head_dim + d];
      q[d] = rounds ? RoundToBf16(value) : value;
    }
    if (numerics == NaiveClass::kInt8) RoundToSteps(q, 127);
    constexpr float kNothing = -std::numeric_limits<float>::infinity();
    float maximum = c.sinks.empty() ? kNothing : c.sinks[head], sum = 0;
    for (int64_t j = 0; j < s.kv_len; ++j) {
      p[j] = kNothing;
      if (!c.visible(query, j)) continue;
      float dot = 0;
      for (int64_t d = 0; d < s.head_dim; ++d) dot += q[d] * c.k[(j * s.num_kv_heads + kv_head) * s.head_dim + d];
      p[j] = dot * static_cast<float>(c.scales[head]);
      if (c.term) p[j] = static_cast<float>(c.term(head, query, j, double{p[j]}));
      maximum = std::max(maximum, p[j]);
    }
    if (maximum == kNothing) continue;
    if (!c.sinks.empty()) sum = std::exp(c.sinks[head] - maximum);
    for (float& x : p) sum += x = std::exp(x - maximum);
    for (float& x : p) x = rounds ? RoundToBf16(x / sum) : x / sum;
    for (int64_t j = 0; j < s.kv_len && numerics == NaiveClass::kInt8; j += 64) {
      RoundToSteps(std::span(p).subspan(j, std::min<int64_t>(64, s.kv_len - j)), 255);
    }
    float* o = out.data() + row * s.v_head_dim;
    for (int64_t j = 0; j < s.kv_len; ++j) {
      if (!c.visible(query, j)) continue;
      const float* value = c.v.data() + (j * s.num_kv_heads + kv_head) * s.v_head_dim;
      for (int64_t i = 0; i < s.v_head_dim; ++i) o[i] += p[j] * value[i];
    }
    for (int64_t i = 0; i < s.v_head_dim && rounds; ++i) o[i] = RoundToBf16(o[i]);
  }
  return out;
}

}  // namespace attend
