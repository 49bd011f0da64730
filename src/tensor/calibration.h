// What a short measurement on this machine found: the speeds that the plan computes with. measure/ makes it, plan/
// reads it, the application stores it. Rates are of all threads together.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/compute.h"

namespace attend {

// How far a time may be off: factors of the expected one. Two cores shared with other programs swing by this much.
struct Spread {
  double low = 0.8, high = 1.3;
};

struct Calibration {
  std::string cpu_name;
  std::string isa;
  int threads = 0;
  Compute compute = Compute::kBf16;
  double linear_flops_per_s = 0;     // matmul over packed weights, 512 rows
  double attention_flops_per_s = 0;  // causal prefill attention, visible pairs only
  double weight_bytes_per_s = 0;     // one token: packed weights read
  double kv_bytes_per_s = 0;         // one token: cache read at depth
  double element_s_per_token = 0;    // norms, rope, cache writes, gates: seconds a token of prefill, all layers
  Spread spread = {};                // of the times that follow
};

}  // namespace attend
