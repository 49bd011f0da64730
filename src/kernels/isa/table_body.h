// Fills a KernelTable from a vector type. Each instruction set's translation unit does this once, with its own flags.
#pragma once

#include "kernels/isa/attend_body.h"
#include "kernels/isa/elementwise_body.h"

namespace attend {
namespace {

template <class V>
constexpr KernelTable MakeKernelTable() {
  return {
      .name = V::kName,
      .has_bf16_dot = V::kHasBf16Dot,
      .matmul = Matmul<V>,
      .attend = Attend<V>,
      .attention_weights = AttentionWeights<V>,
      .rms_norm = RmsNorm<V>,
      .rope = Rope<V>,
      .swiglu = SwiGlu<V>,
      .round_to_bf16 = RoundToBf16<V>,
      .pack_bf16 = PackBf16<V>,
      .unpack_f16 = UnpackF16<V>,
      .log_sum_exp = LogSumExp<V>,
      .exp = ExpRow<V>,
      .fma_loop = V::FmaLoop,
      .bf16_loop = V::Bf16Loop,
      .read_loop = V::SumWords,
  };
}

}  // namespace
}  // namespace attend
