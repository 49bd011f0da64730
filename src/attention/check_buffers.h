// The caller's own memory: types, alignment, strides, and that what is written lies apart from what is read.
#pragma once

#include "attention/run.h"

namespace attend {

// Errors: attention_bad_shape naming what is wrong.
Result<void> CheckObserver(const AttentionObserver* observer);  // null: none
Result<void> CheckQueries(const AttentionSchedule& schedule, const AttentionQueries& queries);
Result<void> CheckOutput(const AttentionSchedule& schedule, const AttentionQueries& queries,
                         std::span<const KvView> caches, const AttentionOutput& output);

}  // namespace attend
