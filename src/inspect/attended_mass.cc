#include "inspect/attended_mass.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attend {

AttendedMass::AttendedMass(const Transformer& transformer, ThreadPool& pool, std::span<const HeadAddress> heads)
    : transformer_(&transformer), pool_(&pool), heads_of_layer_(transformer.header().num_layers) {
  if (heads.empty()) {
    for (auto& of_layer : heads_of_layer_) {
      of_layer.resize(transformer.header().num_q_heads);
      std::iota(of_layer.begin(), of_layer.end(), 0);
    }
  }
  for (const HeadAddress& address : heads) heads_of_layer_[address.layer].push_back(address.head);
}

ForwardHooks AttendedMass::hooks() {
  return {.on_layer = [this](const LayerTrace& trace) { Observe(trace); }, .on_final_hidden = {}};
}

void AttendedMass::Observe(const LayerTrace& trace) {
  const ModelHeader& h = transformer_->header();
  const std::vector<int64_t>& heads = heads_of_layer_[trace.layer];
  const int64_t num_keys = trace.first_position + trace.num_tokens;
  if (trace.layer == 0) {
    num_tokens_ += trace.num_tokens;
    mass_.resize(static_cast<size_t>(std::max<int64_t>(num_keys, static_cast<int64_t>(mass_.size()))), 0.0);
  }
  if (heads.empty()) return;
  const float scale = 1.0f / std::sqrt(static_cast<float>(h.head_dim));
  // One row of weights a head, each token in turn; summed in a fixed order.
  std::vector<float> rows(heads.size() * static_cast<size_t>(num_keys));
  for (int64_t token = 0; token < trace.num_tokens; ++token) {
    const int64_t visible = trace.first_position + token + 1;
    pool_->ParallelFor(static_cast<int64_t>(heads.size()), [&](int64_t i, int) {
      const int64_t head = heads[i];
      AttentionRowWeights(trace.cache, head / (h.num_q_heads / h.num_kv_heads),
                          trace.q + token * trace.q_stride + head * h.head_dim, h.head_dim, scale,
                          trace.lse[token * h.num_q_heads + head], transformer_->compute(), {0, visible},
                          transformer_->kernels(), rows.data() + i * num_keys);
    });
    for (size_t i = 0; i < heads.size(); ++i) {
      for (int64_t key = kNumSinkTokens; key < visible; ++key)
        mass_[key] += rows[i * static_cast<size_t>(num_keys) + key];
    }
  }
}

}  // namespace attend
