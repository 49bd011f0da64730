#include "attention/run.h"

#include <algorithm>
#include <string>

#include "attention/kv_tiles.h"
#include "attention/unit_runner.h"

namespace attend {
namespace {

tl::unexpected<Error> Bad(std::string subject, std::string expected, std::string found) {
  return tl::unexpected(Error{.code = ErrorCode::kAttentionBadShape,
                              .where = "attention",
                              .subject = std::move(subject),
                              .expected = std::move(expected),
                              .found = std::move(found),
                              .hint = {}});
}

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
  return Bad(subject, "memory apart", "the same bytes in both");
}

Result<void> CheckRows(const std::string& name, const void* data, DType dtype, int64_t stride, int64_t width) {
  const uint32_t value_bytes = InfoOf(dtype).block_bytes;
  if (data == nullptr) return Bad(name, "an address", "null");
  if (reinterpret_cast<uintptr_t>(data) % value_bytes != 0) {
    return Bad(name, "aligned to its type", "an address between two values");
  }
  if (stride < width) return Bad(name + " stride", "at least " + std::to_string(width), std::to_string(stride));
  return {};
}

Result<void> CheckBuffers(const AttentionSchedule& s, const AttentionQueries& q, std::span<const KvView> caches,
                          const AttentionOutput& o) {
  int64_t tokens = 0;
  for (int64_t q_len : s.q_lens) tokens += q_len;
  if (tokens == 0) return {};
  const int64_t q_width = s.num_q_heads * s.head_dim, out_width = s.num_q_heads * s.v_head_dim;
  if (q.dtype != DType::kF32 && q.dtype != DType::kF16 && q.dtype != DType::kBf16) {
    return Bad("queries dtype", "f32, f16 or bf16", std::string(NameOf(q.dtype)));
  }
  if (o.dtype != DType::kF32 && o.dtype != DType::kBf16) {
    return Bad("output dtype", "f32 or bf16", std::string(NameOf(o.dtype)));
  }
  ATTEND_RETURN_IF_ERROR(CheckRows("queries", q.data, q.dtype, q.stride, q_width));
  ATTEND_RETURN_IF_ERROR(CheckRows("output", o.out, o.dtype, o.stride, out_width));
  if (q.stride > (int64_t{1} << 60) / tokens / 4 || o.stride > (int64_t{1} << 60) / tokens / 4) {
    return Bad("stride", "tokens x stride below 2^60 bytes", std::to_string(std::max(q.stride, o.stride)));
  }
  const Bytes out = BytesOf(o.out, o.dtype, tokens, o.stride, out_width);
  const Bytes lse = BytesOf(o.lse, DType::kF32, o.lse == nullptr ? 0 : tokens, s.num_q_heads, s.num_q_heads);
  const Bytes queries = BytesOf(q.data, q.dtype, tokens, q.stride, q_width);
  ATTEND_RETURN_IF_ERROR(CheckApart("output and queries", out, queries));
  ATTEND_RETURN_IF_ERROR(CheckApart("output and lse", out, lse));
  ATTEND_RETURN_IF_ERROR(CheckApart("lse and queries", lse, queries));
  for (const KvView& cache : caches) {
    if (cache.blocks != nullptr) continue;
    ATTEND_RETURN_IF_ERROR(CheckApart("output and k", out, BytesOf(cache.k.data, cache.k.dtype, 1, 0, cache.k.size)));
    ATTEND_RETURN_IF_ERROR(CheckApart("output and v", out, BytesOf(cache.v.data, cache.v.dtype, 1, 0, cache.v.size)));
  }
  return {};
}

}  // namespace

Result<float*> AttentionWorkspace::Reserve(size_t floats) {
  if (buffer_.size() < floats) {
    buffer_ = AlignedBuffer<float>();
    ATTEND_ASSIGN_OR_RETURN(buffer_, AlignedBuffer<float>::Make(floats, "attention workspace"));
  }
  return buffer_.data();
}

uint64_t AttentionWorkspaceBytes(const AttentionSchedule& schedule, std::span<const KvView> caches,
                                 const AttentionObserver* observer, int num_threads) {
  return WorkspaceLayout::Of(schedule, caches, observer).Floats(num_threads) * sizeof(float);
}

Result<AttentionCounters> RunAttention(const AttentionSchedule& schedule, const AttentionQueries& queries,
                                       std::span<const KvView> caches, const AttentionOutput& output,
                                       const KernelTable& kernels, ThreadPool& pool, AttentionWorkspace& workspace) {
  ATTEND_RETURN_IF_ERROR(CheckCaches(schedule, caches));
  ATTEND_RETURN_IF_ERROR(CheckBuffers(schedule, queries, caches, output));
  AttentionCounters counters;
  counters.units = static_cast<int64_t>(schedule.units.size());
  if (schedule.units.empty()) return counters;
  const WorkspaceLayout layout = WorkspaceLayout::Of(schedule, caches, output.observer);
  ATTEND_ASSIGN_OR_RETURN(float* const memory, workspace.Reserve(layout.Floats(pool.num_threads())));
  UnitRunner runner(schedule, queries, caches, output, kernels, layout, memory, pool.num_threads());
  pool.ParallelFor(counters.units, [&](int64_t i, int thread) { runner.RunUnit(schedule.units[i], thread); });
  pool.ParallelFor(static_cast<int64_t>(schedule.merges.size()),
                   [&](int64_t i, int thread) { runner.RunMerge(schedule.merges[i], thread); });
  for (int64_t q_len : schedule.q_lens) counters.rows += q_len * schedule.num_q_heads;
  return counters;
}

}  // namespace attend
