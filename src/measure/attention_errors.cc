#include "measure/attention_errors.h"

#include <cmath>

#include "attention/reference.h"
#include "measure/case_data.h"

namespace attend {
namespace {

struct Way {
  Compute compute;
  const char* format;
};
constexpr Way kWays[] = {
    {Compute::kF32, "f32"},    {Compute::kBf16, "f32"},     {Compute::kBf16, "bf16"},  {Compute::kBf16, "f16"},
    {Compute::kBf16, "q8"},    {Compute::kBf16, "q8/32"},   {Compute::kBf16, "q4"},    {Compute::kBf16, "q4-h"},
    {Compute::kBf16, "q4/32"}, {Compute::kBf16, "q4/32-h"}, {Compute::kBf16, "q8,q4"}, {Compute::kInt8, "q8"},
    {Compute::kInt8, "q8/32"}, {Compute::kInt8, "q4"},      {Compute::kInt8, "q4/32"}, {Compute::kInt8, "q8,q4"}};

AttentionCase CaseOf(int64_t kv_len, CaseValues values) {
  AttentionCase c;
  c.num_q_heads = 8;
  c.num_kv_heads = 2;
  c.head_dim = c.v_head_dim = 128;
  c.q_lens = {4};
  c.kv_lens = {kv_len};
  c.values = values;
  return c;
}

Result<std::vector<double>> Exact(const AttentionCase& c) {
  ATTEND_ASSIGN_OR_RETURN(const CaseData data, CaseData::Make(c, 1));
  const std::vector<float> q = data.QueryValues(0), k = data.KeyValues(0), v = data.ValueValues(0);
  ReferenceCall call;
  call.shape = {c.num_q_heads, c.num_kv_heads, c.head_dim, c.v_head_dim, c.q_lens[0], c.kv_lens[0]};
  call.q = q;
  call.k = k;
  call.v = v;
  call.scales.assign(static_cast<size_t>(c.num_q_heads), double{1.0f / std::sqrt(static_cast<float>(c.head_dim))});
  call.visible = CausalVisible(c.q_lens[0], c.kv_lens[0]);
  return ReferenceAttention(call).out;
}

Result<AttentionError> ErrorOf(const AttentionCase& c, const std::vector<double>& exact, const KernelTable& kernels,
                               ThreadPool& pool) {
  ATTEND_ASSIGN_OR_RETURN(const CaseData data, CaseData::Make(c, 1));
  ATTEND_ASSIGN_OR_RETURN(const AttentionSchedule schedule, ScheduleAttention(data.shape(), data.options()));
  std::vector<float> out(exact.size());
  AttentionWorkspace workspace;
  const std::vector<KvView> caches = data.caches(0);
  ATTEND_RETURN_IF_ERROR(RunAttention(schedule, data.queries(), caches,
                                      {.out = out.data(), .stride = c.num_q_heads * c.v_head_dim}, kernels, pool,
                                      workspace));
  double error = 0, size = 0, largest = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const double difference = out[i] - exact[i];
    error += difference * difference;
    size += exact[i] * exact[i];
    largest = std::max(largest, std::abs(difference));
  }
  return AttentionError{c.compute, c.format, c.values, c.kv_lens[0], std::sqrt(error / size), largest};
}

}  // namespace

Result<std::vector<AttentionError>> MeasureAttentionErrors(const std::vector<int64_t>& kv_lens,
                                                           const KernelTable& kernels, ThreadPool& pool) {
  std::vector<AttentionError> errors;
  for (CaseValues values : {CaseValues::kNormal, CaseValues::kOutliers}) {
    for (int64_t kv_len : kv_lens) {
      AttentionCase c = CaseOf(kv_len, values);
      ATTEND_ASSIGN_OR_RETURN(const std::vector<double> exact, Exact(c));
      for (const Way& way : kWays) {
        c.compute = way.compute;
        c.format = *ParseKvFormat(way.format);
        ATTEND_ASSIGN_OR_RETURN(errors.emplace_back(), ErrorOf(c, exact, kernels, pool));
      }
    }
  }
  return errors;
}

}  // namespace attend
