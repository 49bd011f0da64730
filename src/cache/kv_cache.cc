#include "cache/kv_cache.h"

#include <cstring>
#include <string>

#include "base/check.h"
#include "base/half.h"

namespace attend {
namespace {

int64_t TileBytes(uint64_t padded_width, DType dtype) {
  return static_cast<int64_t>(padded_width * kTileTokens * InfoOf(dtype).block_bytes);
}
int64_t KTileBytes(const CacheDescriptor& d) {
  return TileBytes(CacheDescriptor::Padded(d.k_head_dim), d.k_dtype);
}
int64_t VTileBytes(const CacheDescriptor& d) {
  return TileBytes(CacheDescriptor::Padded(d.v_head_dim), d.v_dtype);
}

// Index of cell (token slot, dimension) in a K tile and of (slot, column) in a V tile.
int64_t KCell(DType dtype, int64_t slot, int64_t dim) {
  return dtype == DType::kF32 ? dim * kTileTokens + slot : (dim / 2 * kTileTokens + slot) * 2 + dim % 2;
}
int64_t VCell(DType dtype, int64_t slot, int64_t column, int64_t width) {
  return dtype == DType::kF32 ? slot * width + column : (slot / 2 * width + column) * 2 + slot % 2;
}

void PutCell(uint8_t* tile, DType dtype, int64_t index, float value) {
  if (dtype == DType::kF32) {
    reinterpret_cast<float*>(tile)[index] = value;
  } else {
    reinterpret_cast<uint16_t*>(tile)[index] = FloatToBf16(value);
  }
}
float GetCell(const uint8_t* tile, DType dtype, int64_t index) {
  return dtype == DType::kF32 ? reinterpret_cast<const float*>(tile)[index]
                              : Bf16ToFloat(reinterpret_cast<const uint16_t*>(tile)[index]);
}

}  // namespace

Result<KvCache> KvCache::Make(std::vector<CacheDescriptor> layers) {
  KvCache cache;
  for (const CacheDescriptor& d : layers) {
    if (d.k_dtype != d.v_dtype || (d.k_dtype != DType::kBf16 && d.k_dtype != DType::kF32)) {
      return tl::unexpected(Error{.code = ErrorCode::kBadArgument,
                                  .where = "cache",
                                  .subject = "kv format",
                                  .expected = "bf16 or f32, the same for K and V",
                                  .found = std::string(NameOf(d.k_dtype)) + " and " + std::string(NameOf(d.v_dtype)),
                                  .hint = {}});
    }
    cache.layer_offsets_.push_back(static_cast<int64_t>(cache.block_bytes_));
    cache.block_bytes_ += d.AllocatedBytes(kTileTokens);
  }
  cache.layers_ = std::move(layers);
  return cache;
}

Result<void> KvCache::Extend(int64_t count) {
  const int64_t wanted = num_tokens_ + count;
  const size_t num_blocks = static_cast<size_t>((wanted + kTileTokens - 1) / kTileTokens);
  const size_t had_blocks = blocks_.size();
  const auto undo = [&](Error error) {
    blocks_.resize(had_blocks);
    block_pointers_.resize(had_blocks);
    return tl::unexpected(std::move(error));
  };
  // The last block is written into: it must be ours alone.
  if (count > 0 && num_tokens_ % kTileTokens != 0 && blocks_.back().use_count() > 1) {
    auto copy = Block::Make(block_bytes_, "kv cache");
    if (!copy) return undo(std::move(copy.error()));
    std::memcpy(copy->data(), blocks_.back()->data(), block_bytes_);
    blocks_.back() = std::make_shared<Block>(std::move(*copy));
    block_pointers_.back() = blocks_.back()->data();
  }
  while (blocks_.size() < num_blocks) {
    auto block = Block::Make(block_bytes_, "kv cache");
    if (!block) return undo(std::move(block.error()));
    blocks_.push_back(std::make_shared<Block>(std::move(*block)));
    block_pointers_.push_back(blocks_.back()->data());
  }
  num_tokens_ = wanted;
  return {};
}

uint8_t* KvCache::HeadTile(int64_t layer, int64_t kv_head, int64_t token) const {
  const CacheDescriptor& d = layers_[layer];
  uint8_t* block = blocks_[token / kTileTokens]->data();
  return block + layer_offsets_[layer] + kv_head * (KTileBytes(d) + VTileBytes(d));
}

void KvCache::Write(int64_t layer, int64_t first, int64_t count, const float* k, int64_t k_stride, const float* v,
                    int64_t v_stride) {
  ATTEND_CHECK(first >= 0 && first + count <= num_tokens_);
  const CacheDescriptor& d = layers_[layer];
  const int64_t width = static_cast<int64_t>(CacheDescriptor::Padded(d.v_head_dim));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t slot = (first + i) % kTileTokens;
    for (int64_t head = 0; head < d.num_kv_heads; ++head) {
      uint8_t* k_tile = HeadTile(layer, head, first + i);
      uint8_t* v_tile = k_tile + KTileBytes(d);
      const float* k_row = k + i * k_stride + head * d.k_head_dim;
      const float* v_row = v + i * v_stride + head * d.v_head_dim;
      for (int64_t dim = 0; dim < d.k_head_dim; ++dim)
        PutCell(k_tile, d.k_dtype, KCell(d.k_dtype, slot, dim), k_row[dim]);
      for (int64_t c = 0; c < d.v_head_dim; ++c) PutCell(v_tile, d.v_dtype, VCell(d.v_dtype, slot, c, width), v_row[c]);
    }
  }
}

void KvCache::Read(int64_t layer, int64_t kv_head, int64_t token, float* k, float* v) const {
  ATTEND_CHECK(token >= 0 && token < num_tokens_);
  const CacheDescriptor& d = layers_[layer];
  const int64_t slot = token % kTileTokens, width = static_cast<int64_t>(CacheDescriptor::Padded(d.v_head_dim));
  const uint8_t* k_tile = HeadTile(layer, kv_head, token);
  const uint8_t* v_tile = k_tile + KTileBytes(d);
  for (int64_t dim = 0; dim < d.k_head_dim; ++dim) k[dim] = GetCell(k_tile, d.k_dtype, KCell(d.k_dtype, slot, dim));
  for (int64_t c = 0; c < d.v_head_dim; ++c) v[c] = GetCell(v_tile, d.v_dtype, VCell(d.v_dtype, slot, c, width));
}

KvView KvCache::View(int64_t layer) const {
  const CacheDescriptor& d = layers_[layer];
  return {.dtype = d.k_dtype,
          .blocks = block_pointers_.data(),
          .num_tokens = num_tokens_,
          .num_kv_heads = d.num_kv_heads,
          .k_dim = static_cast<int64_t>(CacheDescriptor::Padded(d.k_head_dim)),
          .v_width = static_cast<int64_t>(CacheDescriptor::Padded(d.v_head_dim)),
          .layer_offset = layer_offsets_[layer],
          .k_tile_bytes = KTileBytes(d),
          .head_bytes = KTileBytes(d) + VTileBytes(d)};
}

KvCache KvCache::Fork() const {
  KvCache fork;
  fork.layers_ = layers_;
  fork.layer_offsets_ = layer_offsets_;
  fork.block_bytes_ = block_bytes_;
  fork.num_tokens_ = num_tokens_;
  fork.blocks_ = blocks_;
  fork.block_pointers_ = block_pointers_;
  return fork;
}

void KvCache::Truncate(int64_t num_tokens) {
  ATTEND_CHECK(num_tokens >= 0 && num_tokens <= num_tokens_);
  num_tokens_ = num_tokens;
  blocks_.resize(static_cast<size_t>((num_tokens + kTileTokens - 1) / kTileTokens));
  block_pointers_.resize(blocks_.size());
}

}  // namespace attend
