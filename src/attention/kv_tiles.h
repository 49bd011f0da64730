// From the view of a cache to what the kernels read of one kv head; and whether it fits the schedule.
#pragma once

#include <span>

#include "attention/schedule.h"
#include "kernels/attend_args.h"
#include "tensor/kv_view.h"

namespace attend {

KvTiles TilesOf(const KvView& cache, int64_t kv_head, int64_t head_dim, int64_t v_head_dim);

// Errors: attention_bad_shape naming what of which cache does not fit.
Result<void> CheckCaches(const AttentionSchedule& schedule, std::span<const KvView> caches);

}  // namespace attend
