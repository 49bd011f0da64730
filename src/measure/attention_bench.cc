#include "measure/attention_bench.h"

#include <algorithm>

#include "measure/fill_cache.h"
#include "measure/timer.h"

namespace attend {
namespace {

// K and V of all layers together are at least this large: beyond any cache of the processor.
constexpr uint64_t kCacheBytes = uint64_t{256} << 20;

}  // namespace

Result<AttentionBench> AttentionBench::Make(const AttentionCase& c, const KernelTable& kernels, ThreadPool& pool) {
  ATTEND_ASSIGN_OR_RETURN(Call prefill, MakeCall(c, c.tokens));
  ATTEND_ASSIGN_OR_RETURN(Call decode, MakeCall(c, 1));
  const CacheDescriptor layer = {.kind = CacheKind::kFull,
                                 .num_kv_heads = static_cast<uint32_t>(c.num_kv_heads),
                                 .k_head_dim = static_cast<uint32_t>(c.head_dim),
                                 .v_head_dim = static_cast<uint32_t>(c.head_dim),
                                 .format = c.kv_format,
                                 .v_in_k = false,
                                 .window_tokens = 0};
  const uint64_t layer_bytes = std::max<uint64_t>(1, layer.AllocatedBytes(static_cast<uint64_t>(c.tokens)));
  const size_t num_layers = static_cast<size_t>((kCacheBytes + layer_bytes - 1) / layer_bytes);
  ATTEND_ASSIGN_OR_RETURN(KvCache cache, KvCache::Make(std::vector<CacheDescriptor>(num_layers, layer)));
  ATTEND_RETURN_IF_ERROR(FillCache(cache, c.tokens, pool));
  AttentionBench bench(kernels, pool, std::move(cache));
  bench.prefill_ = std::move(prefill);
  bench.decode_ = std::move(decode);
  return bench;
}

Result<AttentionBench::Call> AttentionBench::MakeCall(const AttentionCase& c, int64_t query_tokens) {
  Call call;
  ATTEND_ASSIGN_OR_RETURN(call.schedule,
                          ScheduleAttention({.num_q_heads = c.num_q_heads,
                                             .num_kv_heads = c.num_kv_heads,
                                             .head_dim = c.head_dim,
                                             .v_head_dim = 0,
                                             .q_lens = {&query_tokens, 1},
                                             .kv_lens = {&c.tokens, 1}},
                                            {.mask = Mask::Causal(), .softmax_scale = 0, .compute = c.compute}));
  const size_t floats = static_cast<size_t>(query_tokens * c.num_q_heads * c.head_dim);
  ATTEND_ASSIGN_OR_RETURN(call.q, AlignedBuffer<float>::Make(floats, "attention queries"));
  ATTEND_ASSIGN_OR_RETURN(call.out, AlignedBuffer<float>::Make(floats, "attention output"));
  FillRandom(call.q.data(), static_cast<int64_t>(floats), 3);
  return call;
}

Result<double> AttentionBench::Prefill() {
  return Time(prefill_, 1);
}

Result<double> AttentionBench::Decode() {
  return Time(decode_, cache_.num_layers());
}

Result<double> AttentionBench::Time(Call& call, int64_t num_layers) {
  const int64_t stride = call.schedule.num_q_heads * call.schedule.head_dim;
  const Timer timer;
  for (int64_t layer = 0; layer < num_layers; ++layer) {
    const KvView view = cache_.View(layer);
    ATTEND_RETURN_IF_ERROR(RunAttention(call.schedule, {call.q.data(), stride}, {&view, 1},
                                        {call.out.data(), stride, nullptr}, *kernels_, *pool_, workspace_));
  }
  return timer.Seconds() / static_cast<double>(num_layers);
}

double AttentionBench::PrefillFlops() const {
  const AttentionSchedule& s = prefill_.schedule;
  const double a_pair = 2.0 * static_cast<double>((s.head_dim + s.v_head_dim) * s.num_q_heads);
  return a_pair * static_cast<double>(VisiblePairs(s));
}

double AttentionBench::DecodeBytes() const {
  return static_cast<double>(cache_.layer(0).ExactBytesPerToken()) * static_cast<double>(cache_.num_tokens());
}

}  // namespace attend
