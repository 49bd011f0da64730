#include "cache/block_table.h"

#include <string>

#include "tensor/cache_descriptor.h"

namespace attend {

Result<std::vector<const uint8_t*>> BlocksOf(const BlockPool& pool, std::span<const int32_t> block_table,
                                             int64_t num_tokens) {
  const auto bad = [](std::string subject, std::string expected, std::string found) {
    return Refused(ErrorCode::kAttentionBadShape, "paged cache", std::move(subject), std::move(expected),
                   std::move(found));
  };
  if (reinterpret_cast<uintptr_t>(pool.data) % 64 != 0 || pool.block_bytes % 64 != 0) {
    return bad("pool", "blocks on 64-byte boundaries", std::to_string(pool.block_bytes) + " bytes a block");
  }
  const int64_t needed = (num_tokens + kTileTokens - 1) / kTileTokens;
  if (num_tokens < 0 || static_cast<int64_t>(block_table.size()) < needed) {
    return bad("block_table", std::to_string(needed) + " entries for " + std::to_string(num_tokens) + " tokens",
               std::to_string(block_table.size()));
  }
  std::vector<const uint8_t*> blocks;
  for (int32_t entry : block_table) {
    if (entry < 0 || entry >= pool.num_blocks) {
      return bad("block_table", "entries from 0 to " + std::to_string(pool.num_blocks - 1), std::to_string(entry));
    }
    blocks.push_back(pool.data + entry * pool.block_bytes);
  }
  return blocks;
}

}  // namespace attend
