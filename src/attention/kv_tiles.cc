#include "attention/kv_tiles.h"

#include <algorithm>
#include <string>

#include "attention/bad_shape.h"
#include "base/checked_math.h"

namespace attend {
namespace {

CellFormat FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return CellFormat::kF32;
    case DType::kF16:
      return CellFormat::kF16;
    case DType::kQ8:
      return CellFormat::kQ8;
    case DType::kQ4:
      return CellFormat::kQ4;
    default:
      return CellFormat::kBf16;
  }
}

KvRows RowsOf(const PlainTensor& t, int64_t kv_head, int64_t width) {
  const int64_t value_bytes = InfoOf(t.dtype).block_bytes;
  return {static_cast<const uint8_t*>(t.data) + kv_head * t.head_stride * value_bytes, t.token_stride * value_bytes,
          width};
}

Result<void> CheckEqual(const std::string& subject, int64_t expected, int64_t found) {
  if (expected == found) return {};
  return BadShape(subject, std::to_string(expected), std::to_string(found));
}

Result<void> CheckPlain(const std::string& subject, const PlainTensor& t, int64_t tokens, int64_t heads,
                        int64_t width) {
  ATTEND_RETURN_IF_ERROR(CheckFloats(subject, t.data, t.dtype));
  if (t.data == nullptr && tokens > 0) return BadShape(subject, "an address", "null");
  if (t.token_stride < 0 || t.head_stride < 0) {
    return BadShape(subject + " strides", "0 or more", std::to_string(std::min(t.token_stride, t.head_stride)));
  }
  if (tokens == 0) return {};
  const auto end = CheckedOffset({{tokens - 1, t.token_stride}, {heads - 1, t.head_stride}, {width, 1}});
  if (end && t.size >= 0 && *end <= static_cast<uint64_t>(t.size)) return {};
  return BadShape(subject + " size", "room for token " + std::to_string(tokens - 1) + " of every head",
                  std::to_string(t.size) + " values");
}

Result<void> CheckCache(const AttentionSchedule& s, const KvView& c, const std::string& name, int64_t kv_len) {
  ATTEND_RETURN_IF_ERROR(CheckEqual(name + " num_kv_heads", s.num_kv_heads, c.num_kv_heads));
  ATTEND_RETURN_IF_ERROR(CheckEqual(name + " k_dim", PaddedHeadDim(s.head_dim), c.k_dim));
  ATTEND_RETURN_IF_ERROR(CheckEqual(name + " v_width", PaddedHeadDim(s.v_head_dim), c.v_width));
  if (c.v_in_k && s.v_head_dim > s.head_dim) {
    return BadShape(name + " v_in_k", "v_head_dim of at most head_dim", std::to_string(s.v_head_dim));
  }
  if (c.num_tokens < kv_len) return BadShape(name + " tokens", std::to_string(kv_len), std::to_string(c.num_tokens));
  if (!IsKvDType(c.format.k) || !IsKvDType(c.format.v))
    return BadShape(name + " format", "a cache format", NameOf(c.format));
  const bool is_quantised = IsQuantisedKv(c.format.k) || IsQuantisedKv(c.format.v);
  if (s.options.compute == Compute::kInt8 && !is_quantised) {
    return BadShape("compute", "f32 or bf16 over a cache that is not quantised", "int8 over " + NameOf(c.format));
  }
  if (c.blocks != nullptr || kv_len == 0) return {};
  if (c.format.k != c.k.dtype || (!c.v_in_k && c.format.v != c.v.dtype) || c.format.rotate_k) {
    return BadShape(name + " format", "the types of k and v", NameOf(c.format));
  }
  ATTEND_RETURN_IF_ERROR(CheckPlain(name + " k", c.k, c.num_tokens, s.num_kv_heads, s.head_dim));
  return c.v_in_k ? Result<void>{} : CheckPlain(name + " v", c.v, c.num_tokens, s.num_kv_heads, s.v_head_dim);
}

}  // namespace

KvTiles TilesOf(const KvView& cache, int64_t kv_head, int64_t head_dim, int64_t v_head_dim) {
  const int64_t k_offset = cache.layer_offset + kv_head * cache.head_bytes;
  const int64_t group = cache.format.scale_group;
  KvTiles tiles = {.k_format = FormatOf(cache.format.k),
                   .v_format = FormatOf(cache.format.v),
                   .blocks = cache.blocks,
                   .k_offset = k_offset,
                   .v_offset = k_offset + cache.k_tile_bytes,
                   .k_dim = cache.k_dim,
                   .v_width = cache.v_width,
                   .k_group = group == kWholeHead ? cache.k_dim : group,
                   .v_group = group == kWholeHead ? cache.v_width : group,
                   .v_in_k = cache.v_in_k,
                   .k_rows = {},
                   .v_rows = {}};
  if (cache.blocks == nullptr) {
    tiles.k_rows = RowsOf(cache.k, kv_head, head_dim);
    tiles.v_rows = RowsOf(cache.v_in_k ? cache.k : cache.v, kv_head, v_head_dim);
  }
  return tiles;
}

Result<void> CheckCaches(const AttentionSchedule& s, std::span<const KvView> caches) {
  ATTEND_RETURN_IF_ERROR(
      CheckEqual("caches", static_cast<int64_t>(s.q_lens.size()), static_cast<int64_t>(caches.size())));
  for (size_t i = 0; i < caches.size(); ++i) {
    const std::string name = "cache of sequence " + std::to_string(i);
    ATTEND_RETURN_IF_ERROR(CheckCache(s, caches[i], name, s.kv_lens[i]));
  }
  return {};
}

}  // namespace attend
