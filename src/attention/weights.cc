#include "attention/weights.h"

#include <algorithm>
#include <string>

#include "attention/check_buffers.h"
#include "attention/kv_tiles.h"
#include "attention/workspace_layout.h"

namespace attend {

Result<void> AttentionWeights(const AttentionSchedule& s, const AttentionQueries& queries,
                              std::span<const KvView> caches, const float* lse, const WeightsRectangle& rectangle,
                              const KernelTable& kernels, float* weights) {
  ATTEND_RETURN_IF_ERROR(CheckCaches(s, caches));
  ATTEND_RETURN_IF_ERROR(CheckQueries(s, queries));
  const auto check = [](const char* name, KeyRange range, int64_t limit) -> Result<void> {
    if (0 <= range.begin && range.begin <= range.end && range.end <= limit) return {};
    return Refused(ErrorCode::kAttentionBadShape, "attention weights", name,
                   "a range within 0 to " + std::to_string(limit),
                   std::to_string(range.begin) + " to " + std::to_string(range.end));
  };
  const auto& [sequence, head, tokens, keys] = rectangle;
  ATTEND_RETURN_IF_ERROR(check("sequence", {sequence, sequence + 1}, static_cast<int64_t>(s.q_lens.size())));
  ATTEND_RETURN_IF_ERROR(check("q_head", {head, head + 1}, s.num_q_heads));
  ATTEND_RETURN_IF_ERROR(check("tokens", tokens, s.q_lens[sequence]));
  ATTEND_RETURN_IF_ERROR(check("keys", keys, s.kv_lens[sequence]));

  const KvView& cache = caches[sequence];
  WorkspaceLayout layout;
  layout.k_dim = cache.k_dim;
  layout.v_width = cache.v_width;
  layout.most_rows = std::min(kRowTile, tokens.end - tokens.begin);
  Carver count(nullptr);
  layout.TakeThread(count);
  ATTEND_ASSIGN_OR_RETURN(auto memory, AlignedBuffer<float>::Make(count.used(), "attention weights"));
  Carver carver(memory.data());
  const ThreadBuffers b = layout.TakeThread(carver);
  const int64_t width = keys.end - keys.begin;
  for (int64_t first = tokens.begin; first < tokens.end; first += kRowTile) {
    const int64_t rows = std::min(kRowTile, tokens.end - first);
    for (int64_t r = 0; r < rows; ++r) {
      b.rows.Fill(r, s, queries, cache, kernels, sequence, first + r, head);
      b.lse[r] = lse[(s.q_begins[sequence] + first + r) * s.num_q_heads + head];
    }
    const UnitMask mask = {&s.masks[sequence], 1, {first, first + rows}, keys};
    AttendArgs args = AttendArgsOf(s, cache, sequence, head / s.group_size, b.rows, rows, mask, kernels);
    args.scratch = b.scratch;
    kernels.attention_weights({args, b.lse, weights + (first - tokens.begin) * width, width});
  }
  return {};
}

}  // namespace attend
