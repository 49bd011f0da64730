#include "cache/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/check.h"
#include "cache/tile_cells.h"

namespace attend {
namespace {

tl::unexpected<Error> BadLayer(std::string subject, std::string expected, std::string found) {
  return Refused(ErrorCode::kBadArgument, "cache", std::move(subject), std::move(expected), std::move(found));
}

Result<void> CheckLayer(const CacheDescriptor& d) {
  const KvFormat& f = d.format;
  if (d.kind == CacheKind::kLinear || d.kind == CacheKind::kShared) {
    return BadLayer("cache kind", "full, window or none", std::string(NameOf(d.kind)));
  }
  if (!IsKvDType(f.k) || !IsKvDType(f.v)) return BadLayer("kv format", "f32, bf16, f16, q8 or q4", NameOf(f));
  if (f.scale_group != kWholeHead && f.scale_group != kGroupValues) {
    return BadLayer("kv scale group", "the whole head or 32 values", std::to_string(f.scale_group));
  }
  for (uint32_t dim : {d.k_head_dim, d.v_head_dim}) {
    if (d.kind != CacheKind::kNone && (dim < 1 || dim > 576))
      return BadLayer("head_dim", "1 to 576", std::to_string(dim));
  }
  if (d.v_in_k && (d.v_head_dim > d.k_head_dim || f.rotate_k || f.v != f.k)) {
    return BadLayer("v_in_k", "V no wider than K, of its format and without rotation", NameOf(f));
  }
  return {};
}

}  // namespace

Result<KvCache> KvCache::Make(std::vector<CacheDescriptor> layers) {
  KvCache cache;
  for (const CacheDescriptor& d : layers) {
    ATTEND_RETURN_IF_ERROR(CheckLayer(d));
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
  return block + layer_offsets_[layer] + static_cast<uint64_t>(kv_head) * (d.KTileBytes() + d.VTileBytes());
}

void KvCache::Write(int64_t layer, int64_t first, int64_t count, const float* k, int64_t k_stride, const float* v,
                    int64_t v_stride) {
  ATTEND_CHECK(first >= 0 && first + count <= num_tokens_);
  const CacheDescriptor& d = layers_[layer];
  const TileSide keys = TileSide::Keys(d), values = TileSide::Values(d);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t slot = (first + i) % kTileTokens;
    for (int64_t head = 0; head < d.num_kv_heads; ++head) {
      uint8_t* tile = HeadTile(layer, head, first + i);
      keys.Pack(tile, slot, k + i * k_stride + head * d.k_head_dim);
      if (!d.v_in_k) values.Pack(tile + d.KTileBytes(), slot, v + i * v_stride + head * d.v_head_dim);
    }
  }
}

void KvCache::Read(int64_t layer, int64_t kv_head, int64_t token, float* k, float* v) const {
  ATTEND_CHECK(token >= 0 && token < num_tokens_);
  const CacheDescriptor& d = layers_[layer];
  const int64_t slot = token % kTileTokens;
  const uint8_t* tile = HeadTile(layer, kv_head, token);
  TileSide::Keys(d).Unpack(tile, slot, k);
  if (d.v_in_k) {
    std::copy(k, k + d.v_head_dim, v);
  } else {
    TileSide::Values(d).Unpack(tile + d.KTileBytes(), slot, v);
  }
}

KvView KvCache::View(int64_t layer) const {
  const CacheDescriptor& d = layers_[layer];
  return {.format = d.format,
          .blocks = block_pointers_.data(),
          .num_tokens = num_tokens_,
          .num_kv_heads = d.num_kv_heads,
          .k_dim = static_cast<int64_t>(PaddedHeadDim(d.k_head_dim)),
          .v_width = static_cast<int64_t>(PaddedHeadDim(d.v_head_dim)),
          .layer_offset = layer_offsets_[layer],
          .k_tile_bytes = static_cast<int64_t>(d.KTileBytes()),
          .head_bytes = static_cast<int64_t>(d.KTileBytes() + d.VTileBytes()),
          .v_in_k = d.v_in_k,
          .k = {},
          .v = {}};
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
