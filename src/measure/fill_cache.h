// Fills a cache with made-up keys and values, so that a depth is reached without reading anything.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "base/thread_pool.h"
#include "cache/kv_cache.h"

namespace attend {

// Appends tokens until the cache holds `tokens`; values within +-1. Errors: out_of_memory; the cache is then as before.
Result<void> FillCache(KvCache& cache, int64_t tokens, ThreadPool& pool);

// A row-major block of made-up values within +-1.
void FillRandom(float* out, int64_t count, uint64_t seed);

}  // namespace attend
