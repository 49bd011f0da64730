#include "attention/run.h"

#include "attention/check_buffers.h"
#include "attention/kv_tiles.h"
#include "attention/unit_runner.h"

namespace attend {

Result<float*> AttentionWorkspace::Reserve(size_t floats) {
  if (buffer_.size() < floats) {
    buffer_ = AlignedBuffer<float>();
    ATTEND_ASSIGN_OR_RETURN(buffer_, AlignedBuffer<float>::Make(floats, "attention workspace"));
  }
  return buffer_.data();
}

Result<uint64_t> AttentionWorkspaceBytes(const AttentionSchedule& schedule, std::span<const KvView> caches,
                                         const AttentionObserver* observer, int num_threads) {
  ATTEND_RETURN_IF_ERROR(CheckObserver(observer));
  return WorkspaceLayout::Of(schedule, caches, observer).Floats(num_threads) * sizeof(float);
}

Result<AttentionCounters> RunAttention(const AttentionSchedule& schedule, const AttentionQueries& queries,
                                       std::span<const KvView> caches, const AttentionOutput& output,
                                       const KernelTable& kernels, ThreadPool& pool, AttentionWorkspace& workspace) {
  ATTEND_RETURN_IF_ERROR(CheckCaches(schedule, caches));
  ATTEND_RETURN_IF_ERROR(CheckQueries(schedule, queries));
  ATTEND_RETURN_IF_ERROR(CheckOutput(schedule, queries, caches, output));
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
