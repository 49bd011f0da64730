#include "measure/fill_cache.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace attend {

void FillRandom(float* out, int64_t count, uint64_t seed) {
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    out[i] = static_cast<float>(static_cast<int32_t>(state >> 32)) * 0x1p-31f;
  }
}

Result<void> FillCache(KvCache& cache, int64_t tokens, ThreadPool& pool) {
  const int64_t first = cache.num_tokens();
  ATTEND_CHECK(tokens >= first);
  ATTEND_RETURN_IF_ERROR(cache.Extend(tokens - first));
  int64_t widest = 0;
  for (int64_t layer = 0; layer < cache.num_layers(); ++layer) {
    const CacheDescriptor& d = cache.layer(layer);
    widest = std::max<int64_t>(widest, int64_t{d.num_kv_heads} * std::max(d.k_head_dim, d.v_head_dim));
  }
  // One tile of rows serves every tile and layer; K and V start at different rows of it.
  std::vector<float> rows(static_cast<size_t>((2 * kTileTokens) * widest));
  FillRandom(rows.data(), static_cast<int64_t>(rows.size()), 1);
  pool.ParallelFor(cache.num_layers(), [&](int64_t layer, int) {
    for (int64_t token = first; token < tokens; token += kTileTokens) {
      const int64_t count = std::min<int64_t>(kTileTokens, tokens - token);
      cache.Write(layer, token, count, rows.data(), widest, rows.data() + kTileTokens * widest, widest);
    }
  });
  return {};
}

}  // namespace attend
