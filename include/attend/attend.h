// Attention over given queries, keys and values in one call, on this machine's best kernels and all its cores.
//
//   out[i, h] = sum_j p[i, h, j] v[j, h / G],   p[i, h, :] = softmax over visible j of scale * q[i, h] . k[j, h / G]
//
// Shapes: q [q_len, Hq, D], k [kv_len, Hkv, D], v [kv_len, Hkv, Dv] -> out [q_len, Hq, Dv], lse [q_len, Hq] (natural
// log). G = Hq / Hkv. Query i stands at position i + kv_len - q_len; a row that sees nothing is 0 with lse -inf.
// Memory: K and V once more, packed, and O(threads); never q_len x kv_len. Errors: attention_bad_shape, bad_argument,
// out_of_memory. A Context serves one call at a time.
//
//   attend::Context context;
//   auto result = attend::Attention({.num_q_heads = 32, .num_kv_heads = 8, .head_dim = 128}, q, k, v, context);
//
// Several calls over one growing cache: cache/kv_cache.h, attention/schedule.h and attention/run.h, which this file
// joins.
#pragma once

#include <span>
#include <vector>

#include "attention/run.h"
#include "base/machine.h"
#include "cache/kv_cache.h"
#include "kernels/dispatch.h"

namespace attend {

struct Context {
  Machine machine = DetectMachine();
  ThreadPool pool{machine.num_cores};
  AttentionWorkspace workspace = {};
};

struct Heads {
  int64_t num_q_heads = 0;
  int64_t num_kv_heads = 0;  // divides num_q_heads
  int64_t head_dim = 0;
  int64_t v_head_dim = 0;  // 0: head_dim
};

struct AttentionResult {
  std::vector<float> out;  // [q_len, Hq, Dv]
  std::vector<float> lse;  // [q_len, Hq]
};

inline Result<AttentionResult> Attention(const Heads& heads, std::span<const float> q, std::span<const float> k,
                                         std::span<const float> v, Context& context,
                                         const AttentionOptions& options = {.compute = Compute::kF32}) {
  const int64_t v_dim = heads.v_head_dim > 0 ? heads.v_head_dim : heads.head_dim;
  const auto rows = [](std::span<const float> x, int64_t width) {
    const int64_t size = static_cast<int64_t>(x.size());
    return width > 0 && size % width == 0 ? size / width : int64_t{-1};  // -1: refused as a length
  };
  const int64_t k_width = heads.num_kv_heads * heads.head_dim, v_width = heads.num_kv_heads * v_dim;
  const int64_t q_lens[] = {rows(q, heads.num_q_heads * heads.head_dim)};
  const int64_t kv_lens[] = {rows(k, k_width) == rows(v, v_width) ? rows(k, k_width) : -1};
  ATTEND_ASSIGN_OR_RETURN(const AttentionSchedule schedule, ScheduleAttention({.num_q_heads = heads.num_q_heads,
                                                                               .num_kv_heads = heads.num_kv_heads,
                                                                               .head_dim = heads.head_dim,
                                                                               .v_head_dim = v_dim,
                                                                               .q_lens = q_lens,
                                                                               .kv_lens = kv_lens},
                                                                              options));

  const KvFormat format = options.compute == Compute::kF32    ? KvFormat::Both(DType::kF32)
                          : options.compute == Compute::kBf16 ? KvFormat::Both(DType::kBf16)
                                                              : KvFormat::Both(DType::kQ8);
  ATTEND_ASSIGN_OR_RETURN(KvCache cache, KvCache::Make({{.num_kv_heads = static_cast<uint32_t>(heads.num_kv_heads),
                                                         .k_head_dim = static_cast<uint32_t>(heads.head_dim),
                                                         .v_head_dim = static_cast<uint32_t>(v_dim),
                                                         .format = format}}));
  ATTEND_RETURN_IF_ERROR(cache.Extend(kv_lens[0]));
  cache.Write(0, 0, kv_lens[0], k.data(), k_width, v.data(), v_width);

  const int64_t out_width = heads.num_q_heads * v_dim;
  AttentionResult result{std::vector<float>(static_cast<size_t>(q_lens[0] * out_width)),
                         std::vector<float>(static_cast<size_t>(q_lens[0] * heads.num_q_heads))};
  const KvView views[] = {cache.View(0)};
  ATTEND_RETURN_IF_ERROR(RunAttention(schedule, {q.data(), heads.num_q_heads * heads.head_dim}, views,
                                      {result.out.data(), out_width, result.lse.data()},
                                      KernelsFor(context.machine.isa), context.pool, context.workspace));
  return result;
}

}  // namespace attend
