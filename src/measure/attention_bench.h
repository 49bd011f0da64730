// Times one attention call by itself over a filled cache: causal prefill of T tokens, and one query token over T keys.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/run.h"
#include "base/error.h"
#include "cache/kv_cache.h"
#include "tensor/compute.h"
#include "tensor/kv_format.h"

namespace attend {

struct AttentionCase {
  int64_t num_q_heads = 32;
  int64_t num_kv_heads = 8;
  int64_t head_dim = 128;
  int64_t tokens = 4096;
  KvFormat kv_format = {};
  Compute compute = Compute::kBf16;
};

class AttentionBench {
 public:
  // Errors: attention_bad_shape, bad_argument for the cache format, out_of_memory.
  static Result<AttentionBench> Make(const AttentionCase& shape, const KernelTable& kernels, ThreadPool& pool);

  // Seconds of all tokens against themselves, causal.
  Result<double> Prefill();
  // Seconds of one query token over all tokens, a layer. Layers are visited in turn, so that K and V come from memory.
  Result<double> Decode();

  double PrefillFlops() const;  // 4 Hq D * visible pairs
  double DecodeBytes() const;   // K and V of one layer

 private:
  struct Call {
    AttentionSchedule schedule;
    AlignedBuffer<float> q, out;  // [tokens, Hq * D]
  };

  AttentionBench(const KernelTable& kernels, ThreadPool& pool, KvCache cache)
      : kernels_(&kernels), pool_(&pool), cache_(std::move(cache)) {}

  static Result<Call> MakeCall(const AttentionCase& shape, int64_t query_tokens);
  Result<double> Time(Call& call, int64_t num_layers);

  const KernelTable* kernels_;
  ThreadPool* pool_;
  KvCache cache_;
  Call prefill_, decode_;
  AttentionWorkspace workspace_;
};

}  // namespace attend
