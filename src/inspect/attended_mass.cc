#include "inspect/attended_mass.h"

#include <algorithm>
#include <numeric>

#include "attention/weights.h"

namespace attend {
namespace {

constexpr int64_t kTokensAtOnce = 16;

}  // namespace

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
  const std::vector<int64_t>& heads = heads_of_layer_[trace.layer];
  const int64_t num_keys = trace.first_position + trace.num_tokens;
  if (trace.layer == 0) {
    num_tokens_ += trace.num_tokens;
    mass_.resize(static_cast<size_t>(std::max<int64_t>(num_keys, static_cast<int64_t>(mass_.size()))), 0.0);
  }
  if (heads.empty()) return;
  // The rows of a few tokens at a time, each head by itself; summed in a fixed order.
  const AttentionQueries queries = {trace.q, trace.q_stride};
  std::vector<float> rows(heads.size() * static_cast<size_t>(kTokensAtOnce * num_keys));
  for (int64_t first = 0; first < trace.num_tokens; first += kTokensAtOnce) {
    const int64_t count = std::min(kTokensAtOnce, trace.num_tokens - first);
    std::vector<Result<void>> made(heads.size());
    pool_->ParallelFor(static_cast<int64_t>(heads.size()), [&](int64_t i, int) {
      const WeightsRectangle rectangle = {0, heads[i], {first, first + count}, {0, num_keys}};
      made[i] = AttentionWeights(*trace.schedule, queries, {&trace.cache, 1}, trace.lse, rectangle,
                                 transformer_->kernels(), rows.data() + i * kTokensAtOnce * num_keys);
    });
    for (Result<void>& result : made) {
      if (!result && status_) status_ = std::move(result);
    }
    for (size_t i = 0; i < heads.size(); ++i) {
      for (int64_t row = 0; row < count; ++row) {
        const float* weights = rows.data() + (static_cast<int64_t>(i) * kTokensAtOnce + row) * num_keys;
        for (int64_t key = kNumSinkTokens; key < num_keys; ++key) mass_[key] += weights[key];
      }
    }
  }
}

}  // namespace attend
