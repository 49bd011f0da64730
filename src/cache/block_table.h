// Paged caches: blocks of 64 tokens anywhere in a pool, and a table that says which of them are a sequence's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "tensor/kv_view.h"

namespace attend {

struct BlockPool {
  const uint8_t* data = nullptr;  // aligned to 64 bytes
  int64_t num_blocks = 0;
  int64_t block_bytes = 0;  // a multiple of 64
};

// The addresses of a table's blocks, for KvView::blocks. Errors: attention_bad_shape for an entry outside the pool, a
// table too short for `num_tokens`, or a pool that is not aligned.
Result<std::vector<const uint8_t*>> BlocksOf(const BlockPool& pool, std::span<const int32_t> block_table,
                                             int64_t num_tokens);

}  // namespace attend
