#include "measure/attention_bench.h"

#include <algorithm>

#include "measure/timer.h"

namespace attend {
namespace {

// K and V of all layers together are at least this large: beyond most caches of a processor.
constexpr double kCacheBytes = 256.0 * (1 << 20);

double BytesOf(const AttentionCase& c) {
  return static_cast<double>(c.Layer().ExactBytesPerToken()) * static_cast<double>(c.KeyTokens());
}

}  // namespace

Result<AttentionBench> AttentionBench::Make(const AttentionCase& c, const KernelTable& kernels, ThreadPool& pool,
                                            int64_t most_layers) {
  const bool few_queries = c.QueryTokens() < c.KeyTokens();
  const int64_t layers = few_queries ? static_cast<int64_t>(kCacheBytes / std::max(1.0, BytesOf(c))) + 1 : 1;
  ATTEND_ASSIGN_OR_RETURN(CaseData data, CaseData::Make(c, std::min(layers, most_layers)));
  AttentionBench bench(c, std::move(data), kernels, pool);
  ATTEND_ASSIGN_OR_RETURN(AttentionSchedule schedule, ScheduleAttention(bench.data_.shape(), bench.data_.options()));
  bench.schedule_ = std::make_unique<AttentionSchedule>(std::move(schedule));
  for (int64_t layer = 0; layer < bench.num_layers(); ++layer) bench.caches_.push_back(bench.data_.caches(layer));
  const size_t rows = static_cast<size_t>(bench.data_.num_tokens() * c.num_q_heads);
  ATTEND_ASSIGN_OR_RETURN(bench.out_,
                          AlignedBuffer<float>::Make(rows * static_cast<size_t>(c.v_head_dim), "attention output"));
  ATTEND_ASSIGN_OR_RETURN(bench.lse_, AlignedBuffer<float>::Make(rows, "attention lse"));
  return bench;
}

Result<double> AttentionBench::Run() {
  const Timer timer;
  for (const std::vector<KvView>& caches : caches_) {
    std::optional<StatisticsCollector> collector;
    if (observe_) collector.emplace(case_.num_q_heads, case_.q_lens, case_.kv_lens, *observe_);
    const AttentionOutput output = {.out = out_.data(),
                                    .stride = case_.num_q_heads * case_.v_head_dim,
                                    .lse = lse_.data(),
                                    .dtype = case_.out_dtype,
                                    .observer = collector ? &*collector : nullptr};
    ATTEND_RETURN_IF_ERROR(RunAttention(*schedule_, data_.queries(), caches, output, *kernels_, *pool_, *workspace_));
  }
  return timer.Seconds() / static_cast<double>(num_layers());
}

int64_t AttentionBench::VisiblePairs() const {
  return attend::VisiblePairs(*schedule_);
}

double AttentionBench::Flops() const {
  return 2.0 * static_cast<double>((case_.head_dim + case_.v_head_dim) * case_.num_q_heads) *
         static_cast<double>(VisiblePairs());
}

double AttentionBench::KvBytes() const {
  return BytesOf(case_);
}

}  // namespace attend
