// The KV cache of one sequence, in kernel order: a token's K and V are packed once, on append, into the panels that
// attention reads; nothing is packed again at run time. Layout version 2 (docs/reference/cache.md).
//
// Memory comes in blocks of 64 tokens for all layers, so that the bytes are exactly those of
// CacheDescriptor::AllocatedBytes. Fork shares blocks; Extend copies the last, partly filled one when another cache
// shares it, so that Write after it is seen by this cache alone. Written tokens of a fork are not written again. Not
// safe for concurrent writers; Write of different layers, or of tokens of different octets (token / 8), may run
// concurrently between two Extends.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "tensor/cache_descriptor.h"
#include "tensor/kv_view.h"

namespace attend {

class KvCache {
 public:
  // Errors: bad_argument for a layer whose format or dimensions no cache has.
  static Result<KvCache> Make(std::vector<CacheDescriptor> layers);

  KvCache(KvCache&&) = default;
  KvCache& operator=(KvCache&&) = default;

  // Room for `count` more tokens, which must then be written for every layer. Errors: out_of_memory; the cache is
  // unchanged.
  Result<void> Extend(int64_t count);

  // Packs K [count, k_stride] and V [count, v_stride] (heads side by side, [Hkv * D]) of tokens [first, first + count)
  // of one layer, rounded to the layer's format (cache/tile_cells.h). With v_in_k, v is not read. Precondition: first +
  // count <= num_tokens().
  void Write(int64_t layer, int64_t first, int64_t count, const float* k, int64_t k_stride, const float* v,
             int64_t v_stride);

  // The inverse of Write for one token of one kv head: k [head_dim], v [v_head_dim].
  void Read(int64_t layer, int64_t kv_head, int64_t token, float* k, float* v) const;

  KvView View(int64_t layer) const;

  // The same content, sharing memory until either side writes.
  KvCache Fork() const;

  // Drops all tokens from `num_tokens` on. Precondition: num_tokens <= num_tokens().
  void Truncate(int64_t num_tokens);

  int64_t num_tokens() const { return num_tokens_; }
  int64_t num_layers() const { return static_cast<int64_t>(layers_.size()); }
  const CacheDescriptor& layer(int64_t i) const { return layers_[i]; }
  uint64_t allocated_bytes() const { return blocks_.size() * block_bytes_; }

 private:
  using Block = AlignedBuffer<uint8_t>;

  KvCache() = default;
  uint8_t* HeadTile(int64_t layer, int64_t kv_head, int64_t token) const;

  std::vector<CacheDescriptor> layers_;
  std::vector<int64_t> layer_offsets_;
  size_t block_bytes_ = 0;
  int64_t num_tokens_ = 0;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::vector<const uint8_t*> block_pointers_;
};

}  // namespace attend
