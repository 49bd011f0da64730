// How far attention over each cache format and numerics class is from the formula in double precision over the values
// before they were stored: storage, rounding and sums together.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "kernels/kernel_table.h"
#include "measure/attention_case.h"

namespace attend {

struct AttentionError {
  Compute compute;
  KvFormat format;
  CaseValues values;
  int64_t kv_len;
  double relative_rms;  // |out - exact| / |exact|, Euclidean over all outputs
  double largest;       // largest |out - exact|; values have a deviation of 1
};

// 8 query heads on 2 key heads of 128, 4 query tokens. Errors: out_of_memory.
Result<std::vector<AttentionError>> MeasureAttentionErrors(const std::vector<int64_t>& kv_lens,
                                                           const KernelTable& kernels, ThreadPool& pool);

}  // namespace attend
