// The rows of a work unit as the kernels read them: queries gathered from the caller's tensor, and what goes with each.
#pragma once

#include "attention/run.h"
#include "attention/unit_mask.h"
#include "kernels/attend_args.h"

namespace attend {

// One entry a row of a unit.
struct UnitRows {
  float* q;  // [rows, k_dim]: zeros behind head_dim; rotated and rounded as K was
  float* scale;
  float* slope;
  const uint8_t** bias;
  int64_t* position;

  // Fills entry r with the query of a token of a sequence and of a head.
  void Fill(int64_t r, const AttentionSchedule& schedule, const AttentionQueries& queries, const KvView& cache,
            const KernelTable& kernels, int64_t sequence, int64_t token, int64_t head) const;
};

// Arguments of the kernel for `rows` filled rows of one kv head; out, lse, observe and scratch are the caller's to set.
AttendArgs AttendArgsOf(const AttentionSchedule& schedule, const KvView& cache, int64_t sequence, int64_t kv_head,
                        const UnitRows& rows, int64_t num_rows, const UnitMask& mask, const KernelTable& kernels);

}  // namespace attend
