#include "attention/check_buffers.h"

#include <algorithm>
#include <string>

#include "attention/bad_shape.h"

namespace attend {
namespace {

struct Bytes {
  uintptr_t begin = 0, end = 0;
};

// The bytes from the first value of the first row to the last of the last.
Bytes BytesOf(const void* data, DType dtype, int64_t rows, int64_t stride, int64_t width) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data);
  if (rows == 0) return {begin, begin};
  return {begin, begin + static_cast<uintptr_t>(((rows - 1) * stride + width) * InfoOf(dtype).block_bytes)};
}

Result<void> CheckApart(const char* subject, Bytes a, Bytes b) {
  if (a.end <= b.begin || b.end <= a.begin || a.begin == a.end || b.begin == b.end) return {};
  return BadShape(subject, "memory apart", "the same bytes in both");
}

Result<void> CheckRows(const std::string& name, const void* data, DType dtype, int64_t stride, int64_t width) {
  ATTEND_RETURN_IF_ERROR(CheckFloats(name, data, dtype));
  if (data == nullptr) return BadShape(name, "an address", "null");
  if (stride < width) return BadShape(name + " stride", "at least " + std::to_string(width), std::to_string(stride));
  return {};
}

int64_t TokensOf(const AttentionSchedule& s) {
  int64_t tokens = 0;
  for (int64_t q_len : s.q_lens) tokens += q_len;
  return tokens;
}

Bytes BytesOf(const PlainTensor& t) {
  return BytesOf(t.data, t.dtype, t.data == nullptr ? 0 : 1, 0, t.size);
}

Result<void> CheckStride(const char* name, int64_t stride, int64_t tokens) {
  if (stride <= (int64_t{1} << 60) / tokens / 4) return {};
  return BadShape(name, "tokens x stride below 2^60 bytes", std::to_string(stride));
}

}  // namespace

Result<void> CheckObserver(const AttentionObserver* observer) {
  if (observer == nullptr) return {};
  const int64_t cell = observer->wants().cell_keys;
  if (cell == 16 || cell == 32 || cell == 64) return {};
  return BadShape("observer cell_keys", "16, 32 or 64", std::to_string(cell));
}

Result<void> CheckQueries(const AttentionSchedule& s, const AttentionQueries& q) {
  const int64_t tokens = TokensOf(s);
  if (tokens == 0) return {};
  ATTEND_RETURN_IF_ERROR(CheckRows("queries", q.data, q.dtype, q.stride, s.num_q_heads * s.head_dim));
  return CheckStride("queries stride", q.stride, tokens);
}

Result<void> CheckOutput(const AttentionSchedule& s, const AttentionQueries& q, std::span<const KvView> caches,
                         const AttentionOutput& o) {
  const int64_t tokens = TokensOf(s);
  if (tokens == 0) return {};
  if (o.dtype != DType::kF32 && o.dtype != DType::kBf16) {
    return BadShape("output dtype", "f32 or bf16", std::string(NameOf(o.dtype)));
  }
  const int64_t width = s.num_q_heads * s.v_head_dim;
  ATTEND_RETURN_IF_ERROR(CheckRows("output", o.out, o.dtype, o.stride, width));
  ATTEND_RETURN_IF_ERROR(CheckStride("output stride", o.stride, tokens));
  ATTEND_RETURN_IF_ERROR(CheckFloats("lse", o.lse, DType::kF32));
  ATTEND_RETURN_IF_ERROR(CheckObserver(o.observer));
  const Bytes out = BytesOf(o.out, o.dtype, tokens, o.stride, width);
  const Bytes lse = BytesOf(o.lse, DType::kF32, o.lse == nullptr ? 0 : tokens, s.num_q_heads, s.num_q_heads);
  const Bytes queries = BytesOf(q.data, q.dtype, tokens, q.stride, s.num_q_heads * s.head_dim);
  ATTEND_RETURN_IF_ERROR(CheckApart("output and queries", out, queries));
  ATTEND_RETURN_IF_ERROR(CheckApart("output and lse", out, lse));
  ATTEND_RETURN_IF_ERROR(CheckApart("lse and queries", lse, queries));
  for (const KvView& cache : caches) {
    if (cache.blocks != nullptr) continue;
    ATTEND_RETURN_IF_ERROR(CheckApart("output and k", out, BytesOf(cache.k)));
    ATTEND_RETURN_IF_ERROR(CheckApart("output and v", out, BytesOf(cache.v)));
    ATTEND_RETURN_IF_ERROR(CheckApart("lse and k", lse, BytesOf(cache.k)));
    ATTEND_RETURN_IF_ERROR(CheckApart("lse and v", lse, BytesOf(cache.v)));
  }
  return {};
}

}  // namespace attend
