#include "attention/unit_rows.h"

#include <cstring>

#include "attention/kv_tiles.h"
#include "base/half.h"
#include "kernels/hadamard.h"

namespace attend {
namespace {

BiasFormat FormatOf(const AttentionBias& bias) {
  if (bias.data == nullptr) return BiasFormat::kNone;
  return bias.dtype == DType::kF32   ? BiasFormat::kF32
         : bias.dtype == DType::kF16 ? BiasFormat::kF16
                                     : BiasFormat::kBf16;
}

ScoreClass ClassOf(Compute compute) {
  return compute == Compute::kF32    ? ScoreClass::kExact
         : compute == Compute::kBf16 ? ScoreClass::kBf16
                                     : ScoreClass::kInt8;
}

// A token's query of one head as floats [k_dim].
void GatherQuery(const AttentionSchedule& s, const AttentionQueries& queries, const KvView& cache,
                 const KernelTable& kernels, int64_t token, int64_t head, float* q) {
  const int64_t first = token * queries.stride + head * s.head_dim;
  const uint16_t* halves = static_cast<const uint16_t*>(queries.data) + first;
  if (queries.dtype == DType::kF32) {
    std::memcpy(q, static_cast<const float*>(queries.data) + first, static_cast<size_t>(s.head_dim) * sizeof(float));
  } else if (queries.dtype == DType::kF16) {
    kernels.unpack_f16(halves, s.head_dim, q);
  } else {
    for (int64_t i = 0; i < s.head_dim; ++i) q[i] = Bf16ToFloat(halves[i]);
  }
  std::memset(q + s.head_dim, 0, static_cast<size_t>(cache.k_dim - s.head_dim) * sizeof(float));
  if (cache.format.rotate_k) HadamardRotate(q, s.head_dim);
}

}  // namespace

void UnitRows::Fill(int64_t r, const AttentionSchedule& s, const AttentionQueries& queries, const KvView& cache,
                    const KernelTable& kernels, int64_t sequence, int64_t token, int64_t head) const {
  const AttentionOptions& o = s.options;
  GatherQuery(s, queries, cache, kernels, s.q_begins[sequence] + token, head, q + r * cache.k_dim);
  scale[r] = s.scales[head];
  position[r] = s.masks[sequence].PositionOf(token);
  if (!o.alibi_slopes.empty()) slope[r] = o.alibi_slopes[head];
  if (o.bias.data == nullptr) return;
  const int64_t at = sequence * o.bias.sequence_stride + head * o.bias.head_stride + token * o.bias.query_stride;
  bias[r] = static_cast<const uint8_t*>(o.bias.data) + at * InfoOf(o.bias.dtype).block_bytes;
}

AttendArgs AttendArgsOf(const AttentionSchedule& s, const KvView& cache, int64_t sequence, int64_t kv_head,
                        const UnitRows& rows, int64_t num_rows, const UnitMask& mask, const KernelTable& kernels) {
  const AttentionOptions& o = s.options;
  if (o.compute != Compute::kF32) kernels.round_to_bf16(rows.q, num_rows * cache.k_dim);
  return {.kv = TilesOf(cache, kv_head, s.head_dim, s.v_head_dim),
          .key_begin = mask.keys.begin,
          .key_end = mask.keys.end,
          .rows = num_rows,
          .q = rows.q,
          .scale = rows.scale,
          .terms = {.is_on = o.softcap > 0 || o.bias.data != nullptr || !o.alibi_slopes.empty(),
                    .softcap = o.softcap,
                    .bias_format = FormatOf(o.bias),
                    .bias_broadcast = o.bias.key_stride == 0,
                    .bias_keys = s.kv_lens[sequence],
                    .bias = rows.bias,
                    .alibi_slope = o.alibi_slopes.empty() ? nullptr : rows.slope,
                    .row_position = rows.position},
          .mask = UnitMask::Tile,
          .mask_context = &mask,
          .score_class = ClassOf(o.compute),
          .observe = {},
          .out = nullptr,
          .lse = nullptr,
          .scratch = nullptr};
}

}  // namespace attend
