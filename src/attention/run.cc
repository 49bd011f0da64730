#include "attention/run.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "base/checked_math.h"

namespace attend {
namespace {

KvTiles TilesOf(const KvView& cache, int64_t kv_head) {
  const int64_t k_offset = cache.layer_offset + kv_head * cache.head_bytes;
  return {.format = cache.dtype == DType::kF32 ? KvFormat::kF32 : KvFormat::kBf16,
          .blocks = cache.blocks,
          .k_offset = k_offset,
          .v_offset = k_offset + cache.k_tile_bytes,
          .k_dim = cache.k_dim,
          .v_width = cache.v_width};
}

// One thread's scratch, carved from the workspace.
struct UnitBuffers {
  float* q;            // [kRowTile, k_dim]
  float* out;          // [kRowTile, v_width]
  float* lse;          // [kRowTile]
  int64_t* row_begin;  // [kRowTile]
  int64_t* row_end;    // [kRowTile]
  float* scratch;

  static size_t Floats(int64_t k_dim, int64_t v_width) {
    return RoundUp(
        static_cast<size_t>(kRowTile * (k_dim + v_width + 1 + 4) + AttendScratchFloats(kRowTile, k_dim, v_width)), 16);
  }
  static UnitBuffers Carve(float* base, int64_t k_dim, int64_t v_width) {
    UnitBuffers b;
    b.q = base;
    b.out = b.q + kRowTile * k_dim;
    b.row_begin = reinterpret_cast<int64_t*>(b.out + kRowTile * v_width);
    b.row_end = b.row_begin + kRowTile;
    b.scratch = reinterpret_cast<float*>(b.row_end + kRowTile);
    b.lse = b.scratch + AttendScratchFloats(kRowTile, k_dim, v_width);
    return b;
  }
};

class Runner {
 public:
  Runner(const AttentionSchedule& schedule, const AttentionQueries& queries, std::span<const KvView> caches,
         const AttentionOutput& output, const KernelTable& kernels, float* workspace, int num_threads)
      : s_(schedule), queries_(queries), caches_(caches), output_(output), kernels_(kernels) {
    k_dim_ = caches.empty() ? 0 : caches[0].k_dim;
    v_width_ = caches.empty() ? 0 : caches[0].v_width;
    threads_ = workspace;
    partial_out_ = workspace + static_cast<size_t>(num_threads) * UnitBuffers::Floats(k_dim_, v_width_);
    partial_lse_ = partial_out_ + s_.num_partial_rows * v_width_;
  }

  void RunUnit(const AttentionUnit& unit, int thread) {
    float* base = threads_ + static_cast<size_t>(thread) * UnitBuffers::Floats(k_dim_, v_width_);
    const UnitBuffers b = UnitBuffers::Carve(base, k_dim_, v_width_);
    const int64_t rows = unit.rows.end - unit.rows.begin;
    GatherRows(unit, b);
    float* out = unit.partial < 0 ? b.out : partial_out_ + unit.partial * v_width_;
    float* lse = unit.partial < 0 ? b.lse : partial_lse_ + unit.partial;
    kernels_.attend({.kv = TilesOf(caches_[unit.sequence], unit.kv_head),
                     .key_begin = unit.keys.begin,
                     .key_end = unit.keys.end,
                     .rows = rows,
                     .q = b.q,
                     .row_begin = b.row_begin,
                     .row_end = b.row_end,
                     .scale = s_.softmax_scale,
                     .round_weights = s_.compute == Compute::kBf16,
                     .out = out,
                     .lse = lse,
                     .scratch = b.scratch});
    if (unit.partial >= 0) return;
    for (int64_t r = 0; r < rows; ++r) StoreRow(unit, unit.rows.begin + r, out + r * v_width_, lse[r]);
  }

  // Units that share rows hold consecutive key ranges; they are merged in the order of their keys.
  void MergePartials() {
    std::map<std::pair<int64_t, int64_t>, std::vector<const AttentionUnit*>> groups;
    for (const AttentionUnit& unit : s_.units) {
      if (unit.partial >= 0) groups[{unit.sequence, unit.kv_head}].push_back(&unit);
    }
    std::vector<AttentionState> states;
    std::vector<float> merged(static_cast<size_t>(v_width_));
    for (auto& [key, units] : groups) {
      std::sort(units.begin(), units.end(), [](auto* a, auto* b) { return a->keys.begin < b->keys.begin; });
      const AttentionUnit& first = *units.front();
      for (int64_t r = 0; r < first.rows.end - first.rows.begin; ++r) {
        states.clear();
        for (const AttentionUnit* unit : units) {
          states.push_back({partial_out_ + (unit->partial + r) * v_width_, partial_lse_[unit->partial + r]});
        }
        const float lse = MergeStates(states, v_width_, merged.data());
        StoreRow(first, first.rows.begin + r, merged.data(), lse);
      }
    }
  }

 private:
  void GatherRows(const AttentionUnit& unit, const UnitBuffers& b) const {
    const int64_t q_len = s_.q_lens[unit.sequence], kv_len = s_.kv_lens[unit.sequence];
    for (int64_t row = unit.rows.begin; row < unit.rows.end; ++row) {
      const int64_t r = row - unit.rows.begin;
      const int64_t token = row / s_.group_size, head = unit.kv_head * s_.group_size + row % s_.group_size;
      const float* source = queries_.data + (s_.q_begins[unit.sequence] + token) * queries_.stride + head * s_.head_dim;
      float* q = b.q + r * k_dim_;
      std::memcpy(q, source, static_cast<size_t>(s_.head_dim) * sizeof(float));
      std::memset(q + s_.head_dim, 0, static_cast<size_t>(k_dim_ - s_.head_dim) * sizeof(float));
      const KeyRange visible = s_.mask.VisibleKeys(token, q_len, kv_len);
      b.row_begin[r] = visible.begin;
      b.row_end[r] = visible.end;
    }
    if (s_.compute == Compute::kBf16) kernels_.round_to_bf16(b.q, (unit.rows.end - unit.rows.begin) * k_dim_);
  }

  void StoreRow(const AttentionUnit& unit, int64_t row, const float* out, float lse) const {
    const int64_t token = s_.q_begins[unit.sequence] + row / s_.group_size;
    const int64_t head = unit.kv_head * s_.group_size + row % s_.group_size;
    std::memcpy(output_.out + token * output_.stride + head * s_.v_head_dim, out,
                static_cast<size_t>(s_.v_head_dim) * sizeof(float));
    if (output_.lse != nullptr) output_.lse[token * s_.num_q_heads + head] = lse;
  }

  const AttentionSchedule& s_;
  AttentionQueries queries_;
  std::span<const KvView> caches_;
  AttentionOutput output_;
  const KernelTable& kernels_;
  int64_t k_dim_ = 0, v_width_ = 0;
  float* threads_ = nullptr;
  float* partial_out_ = nullptr;
  float* partial_lse_ = nullptr;
};

Result<void> CheckCaches(const AttentionSchedule& s, std::span<const KvView> caches) {
  const auto bad = [](std::string subject, int64_t expected, int64_t found) {
    return tl::unexpected(Error{.code = ErrorCode::kAttentionBadShape,
                                .where = "attention",
                                .subject = std::move(subject),
                                .expected = std::to_string(expected),
                                .found = std::to_string(found),
                                .hint = {}});
  };
  if (caches.size() != s.q_lens.size())
    return bad("caches", static_cast<int64_t>(s.q_lens.size()), static_cast<int64_t>(caches.size()));
  for (size_t i = 0; i < caches.size(); ++i) {
    const KvView& c = caches[i];
    if (c.num_kv_heads != s.num_kv_heads) return bad("cache num_kv_heads", s.num_kv_heads, c.num_kv_heads);
    if (c.k_dim < s.head_dim || c.k_dim >= s.head_dim + 16) return bad("cache head_dim", s.head_dim, c.k_dim);
    if (c.v_width < s.v_head_dim || c.v_width >= s.v_head_dim + 16)
      return bad("cache v_head_dim", s.v_head_dim, c.v_width);
    if (c.num_tokens < s.kv_lens[i])
      return bad("cache tokens of sequence " + std::to_string(i), s.kv_lens[i], c.num_tokens);
    if (c.dtype != caches[0].dtype)
      return bad("cache dtype of sequence " + std::to_string(i), 0, static_cast<int64_t>(i));
  }
  return {};
}

}  // namespace

Result<float*> AttentionWorkspace::Reserve(size_t floats) {
  if (buffer_.size() < floats) {
    buffer_ = AlignedBuffer<float>();
    ATTEND_ASSIGN_OR_RETURN(buffer_, AlignedBuffer<float>::Make(floats, "attention workspace"));
  }
  return buffer_.data();
}

size_t AttentionWorkspaceFloats(const AttentionSchedule& s, int64_t k_dim, int64_t v_width, int num_threads) {
  return static_cast<size_t>(num_threads) * UnitBuffers::Floats(k_dim, v_width) +
         static_cast<size_t>(s.num_partial_rows * (v_width + 1));
}

Result<AttentionCounters> RunAttention(const AttentionSchedule& schedule, const AttentionQueries& queries,
                                       std::span<const KvView> caches, const AttentionOutput& output,
                                       const KernelTable& kernels, ThreadPool& pool, AttentionWorkspace& workspace) {
  ATTEND_RETURN_IF_ERROR(CheckCaches(schedule, caches));
  if (schedule.units.empty()) return AttentionCounters{};
  const size_t floats = AttentionWorkspaceFloats(schedule, caches[0].k_dim, caches[0].v_width, pool.num_threads());
  ATTEND_ASSIGN_OR_RETURN(float* const memory, workspace.Reserve(floats));
  Runner runner(schedule, queries, caches, output, kernels, memory, pool.num_threads());
  pool.ParallelFor(static_cast<int64_t>(schedule.units.size()),
                   [&](int64_t unit, int thread) { runner.RunUnit(schedule.units[unit], thread); });
  runner.MergePartials();
  AttentionCounters counters;
  counters.units = static_cast<int64_t>(schedule.units.size());
  for (int64_t q_len : schedule.q_lens) counters.rows += q_len * schedule.num_q_heads;
  return counters;
}

void AttentionRowWeights(const KvView& cache, int64_t kv_head, const float* q, int64_t head_dim, float softmax_scale,
                         float lse, Compute compute, KeyRange keys, const KernelTable& kernels, float* weights) {
  std::vector<float> row(static_cast<size_t>(cache.k_dim), 0.0f);
  std::copy(q, q + head_dim, row.begin());
  if (compute == Compute::kBf16) kernels.round_to_bf16(row.data(), cache.k_dim);
  kernels.attention_row({.kv = TilesOf(cache, kv_head),
                         .key_begin = keys.begin,
                         .key_end = keys.end,
                         .q = row.data(),
                         .scale = softmax_scale,
                         .lse = lse,
                         .weights = weights});
}

}  // namespace attend
