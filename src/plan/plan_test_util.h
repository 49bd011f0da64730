// Requests and machines that tests plan with.
#pragma once

#include "formats/model_shapes_test_util.h"
#include "plan/budget.h"

namespace attend {

inline Calibration TwoSmallCores() {
  Calibration c;
  c.cpu_name = "two small cores";
  c.isa = "avx2";
  c.threads = 2;
  c.linear_flops_per_s = 60e9;
  c.attention_flops_per_s = 40e9;
  c.weight_bytes_per_s = 10e9;
  c.kv_bytes_per_s = 8e9;
  c.element_s_per_token = 1e-4;
  return c;
}

// SmolLM2 with 100 MB of weights in 2 GiB: nothing but the document's length matters.
inline PlanRequest SmallRequest(int64_t document_tokens) {
  PlanRequest r;
  r.footprint = MakeFootprint(SmolLm2(), {});
  r.footprint.weights_bytes = r.footprint.decode_weight_bytes = 100'000'000;
  r.document_tokens = document_tokens;
  r.memory_limit_bytes = uint64_t{2} << 30;
  r.runtime.threads = 2;
  return r;
}

// The limit at which `r` has exactly the memory that a pass over `pass_tokens` needs.
inline void LimitMemoryTo(PlanRequest& r, int64_t pass_tokens) {
  r.reserve.bytes = 0;
  r.memory_limit_bytes = MemoryOf(r, pass_tokens).total_bytes;
}

}  // namespace attend
