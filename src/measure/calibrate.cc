#include "measure/calibrate.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "measure/fill_cache.h"
#include "measure/model_work.h"
#include "measure/statistics.h"
#include "measure/synthetic_model.h"
#include "measure/timer.h"
#include "model/forward.h"

namespace attend {
namespace {

constexpr int64_t kChunkTokens = kDefaultPrefillChunkTokens;
constexpr int64_t kShortTokens = 300, kLongTokens = 3000;
constexpr double kChunkFlops = 40e9;  // of the matmuls of one measured chunk: some 0.3 s on two ordinary cores
constexpr int64_t kMatmulRows = 128;  // rows of one unit, as in the forward pass
constexpr double kSecondsAStep = 3;   // after which no further round is run
constexpr int kMaxRounds = 5;
constexpr int kShortRounds = 15;
constexpr int kDecodeRounds = 31;

using LogitsFn = Transformer::LogitsFn;
const LogitsFn kIgnore = [](int64_t, int64_t, const float*, int64_t) {};

// The median of a few rounds, after one to warm up: what a run will meet, neighbours included.
Result<double> Usual(int rounds, const std::function<Result<double>()>& run) {
  ATTEND_RETURN_IF_ERROR(run());
  std::vector<double> seconds;
  const Timer timer;
  for (int round = 0; round < rounds && (round == 0 || timer.Seconds() < kSecondsAStep); ++round) {
    ATTEND_ASSIGN_OR_RETURN(const double one, run());
    seconds.push_back(one);
  }
  return Median(seconds);
}

// What is left of `whole` without `part`; noise must not make it vanish.
double Remainder(double whole, double part) {
  return std::max(whole - part, 0.02 * whole);
}

// The product of one chunk of rows with a matrix, cut into units as the forward pass does.
class ChunkMatmul {
 public:
  static Result<ChunkMatmul> Make(const ModelHeader& h, const KernelTable& kernels, ThreadPool& pool, Compute compute) {
    ChunkMatmul m(kernels, pool, compute);
    const int64_t widest_output =
        std::max({int64_t{h.hidden_size}, int64_t{h.intermediate_size}, int64_t{h.num_q_heads} * h.head_dim,
                  int64_t{h.num_kv_heads} * h.v_head_dim});
    m.in_stride_ = WidestInput(ActivationShapeOf(h));
    m.out_stride_ = PaddedColumns(widest_output);
    const size_t in_cells = static_cast<size_t>(kChunkTokens * m.in_stride_);
    const size_t scratch = static_cast<size_t>(pool.num_threads() * kMatmulScratchFloats);
    ATTEND_ASSIGN_OR_RETURN(m.in_, AlignedBuffer<float>::Make(in_cells, "calibration"));
    ATTEND_ASSIGN_OR_RETURN(m.in_bf16_, AlignedBuffer<uint16_t>::Make(in_cells, "calibration"));
    ATTEND_ASSIGN_OR_RETURN(
        m.out_, AlignedBuffer<float>::Make(static_cast<size_t>(kChunkTokens * m.out_stride_), "calibration"));
    ATTEND_ASSIGN_OR_RETURN(m.scratch_, AlignedBuffer<float>::Make(scratch, "calibration"));
    FillRandom(m.in_.data(), static_cast<int64_t>(in_cells), 2);
    kernels.pack_bf16(m.in_.data(), static_cast<int64_t>(in_cells), m.in_bf16_.data());
    return m;
  }

  void Multiply(const PackedMatrix& matrix) {
    constexpr int64_t kRowBlocks = kChunkTokens / kMatmulRows;
    pool_->ParallelFor(matrix.num_panels() * kRowBlocks, [&](int64_t unit, int thread) {
      const int64_t panel = unit / kRowBlocks, row = unit % kRowBlocks * kMatmulRows;
      kernels_->matmul({.weights = matrix.view(),
                        .panel = panel,
                        .a = in_.data() + row * in_stride_,
                        .a_bf16 = bf16_ ? in_bf16_.data() + row * in_stride_ : nullptr,
                        .a_stride = in_stride_,
                        .rows = kMatmulRows,
                        .out = out_.data() + row * out_stride_ + panel * kPanelColumns,
                        .out_stride = out_stride_,
                        .accumulate = false,
                        .scratch = scratch_.data() + thread * kMatmulScratchFloats});
    });
  }

 private:
  ChunkMatmul(const KernelTable& kernels, ThreadPool& pool, Compute compute)
      : kernels_(&kernels), pool_(&pool), bf16_(kernels.has_bf16_dot && RoundsToBf16(compute)) {}

  const KernelTable* kernels_;
  ThreadPool* pool_;
  bool bf16_;
  int64_t in_stride_ = 0, out_stride_ = 0;
  AlignedBuffer<float> in_, out_, scratch_;
  AlignedBuffer<uint16_t> in_bf16_;
};

class Calibrator {
 public:
  Calibrator(const KernelTable& kernels, ThreadPool& pool, Compute compute, const KvFormat& kv_format,
             const SyntheticModel& model, uint32_t real_layers)
      : kernels_(kernels),
        pool_(pool),
        compute_(compute),
        kv_format_(kv_format),
        model_(model),
        real_layers_(real_layers) {}

  // Two passes through a few layers, a short and a long one: time is so much a token and so much a pair, and what the
  // matmuls do not take of the first is elementwise work.
  Result<void> Prefill(Calibration& c) const {
    const double layer_flops = LinearFlopsPerToken(model_.header) / model_.header.num_layers * kChunkTokens;
    ModelHeader few = model_.header;
    few.num_layers =
        static_cast<uint32_t>(std::clamp<double>(kChunkFlops / layer_flops, 1, std::min(8u, few.num_layers)));
    ATTEND_ASSIGN_OR_RETURN(Transformer transformer, MakeTransformer(few));
    ATTEND_ASSIGN_OR_RETURN(const double short_s, ForwardSeconds(transformer, kShortTokens, 0, kShortRounds));
    ATTEND_ASSIGN_OR_RETURN(const double long_s, ForwardSeconds(transformer, kLongTokens, 0, kMaxRounds));
    // short = S a + P b, long = L a + Q b: the pairs' share is what a token of the long pass takes more.
    const double short_flops = ShapeOf(few).AttentionFlops(kShortTokens, 0) / kShortTokens;
    const double long_flops = ShapeOf(few).AttentionFlops(kLongTokens, 0) / kLongTokens;
    const double added_s = Remainder(long_s / kLongTokens, short_s / kShortTokens);
    c.attention_flops_per_s = (long_flops - short_flops) / added_s;
    const double token_s = Remainder(long_s / kLongTokens, long_flops / c.attention_flops_per_s);

    ATTEND_ASSIGN_OR_RETURN(const double linear_s, LinearSeconds(few));
    const double element_s = Remainder(token_s, linear_s / kChunkTokens);
    c.linear_flops_per_s = LinearFlopsPerToken(few) / (token_s - element_s);
    c.element_s_per_token = element_s * real_layers_ / few.num_layers;
    return {};
  }

  // One token through all layers, with nothing cached and with a cache far larger than the processor's.
  Result<void> Decode(Calibration& c) const {
    ATTEND_ASSIGN_OR_RETURN(Transformer transformer, MakeTransformer(model_.header));
    const double token_bytes = static_cast<double>(ShapeOf(model_.header).KvBytesPerToken(kv_format_));
    const int64_t depth = std::clamp(static_cast<int64_t>(static_cast<double>(kCalibrationCacheBytes) / token_bytes),
                                     int64_t{512}, int64_t{1} << 16);
    ATTEND_ASSIGN_OR_RETURN(const double shallow_s, ForwardSeconds(transformer, 1, 0, kDecodeRounds));
    ATTEND_ASSIGN_OR_RETURN(const double deep_s, ForwardSeconds(transformer, 1, depth, kDecodeRounds));
    c.weight_bytes_per_s = WeightBytesRead(model_.weights) / shallow_s;
    c.kv_bytes_per_s = token_bytes * static_cast<double>(depth) / Remainder(deep_s, shallow_s);
    return {};
  }

 private:
  Result<Transformer> MakeTransformer(const ModelHeader& header) const {
    return Transformer::Make(header, model_.weights, kernels_, pool_, compute_);
  }

  Result<double> ForwardSeconds(Transformer& transformer, int64_t tokens, int64_t depth, int rounds) const {
    ATTEND_ASSIGN_OR_RETURN(KvCache cache, KvCache::Make(CacheDescriptors(transformer.header(), kv_format_)));
    ATTEND_RETURN_IF_ERROR(FillCache(cache, depth, pool_));
    std::vector<uint32_t> ids;
    for (int64_t i = 0; i < tokens; ++i) ids.push_back(static_cast<uint32_t>(i) % transformer.header().vocab_size);
    const Logits wanted = tokens == 1 ? Logits::kLast : Logits::kNone;
    return Usual(rounds, [&]() -> Result<double> {
      const Timer timer;
      for (size_t first = 0; first < ids.size(); first += kChunkTokens) {
        const size_t count = std::min(static_cast<size_t>(kChunkTokens), ids.size() - first);
        ATTEND_RETURN_IF_ERROR(transformer.Forward(std::span(ids).subspan(first, count), cache, wanted, kIgnore));
      }
      const double seconds = timer.Seconds();
      cache.Truncate(depth);
      return seconds;
    });
  }

  // All matmuls of the layers over one chunk of rows.
  Result<double> LinearSeconds(const ModelHeader& header) const {
    ATTEND_ASSIGN_OR_RETURN(ChunkMatmul matmul, ChunkMatmul::Make(header, kernels_, pool_, compute_));
    return Usual(kMaxRounds, [&]() -> Result<double> {
      const Timer timer;
      for (uint32_t layer = 0; layer < header.num_layers; ++layer) {
        const LayerWeights& w = model_.weights.layers[layer];
        for (const PackedMatrix* matrix : {&w.query, &w.key, &w.value, &w.output, &w.gate, &w.up, &w.down}) {
          matmul.Multiply(*matrix);
        }
      }
      return timer.Seconds();
    });
  }

  const KernelTable& kernels_;
  ThreadPool& pool_;
  Compute compute_;
  KvFormat kv_format_;
  const SyntheticModel& model_;
  uint32_t real_layers_;
};

}  // namespace

Result<Calibration> Calibrate(const Machine& machine, const KernelTable& kernels, ThreadPool& pool, Compute compute,
                              const KvFormat& kv_format, const ModelHeader& header) {
  ATTEND_ASSIGN_OR_RETURN(const SyntheticModel model, MakeSyntheticModel(header, kCalibrationWeightBytes, pool));
  Calibration calibration;
  calibration.cpu_name = machine.cpu_name;
  calibration.isa = kernels.name;
  calibration.threads = pool.num_threads();
  calibration.compute = compute;
  const Calibrator calibrator(kernels, pool, compute, kv_format, model, header.num_layers);
  ATTEND_RETURN_IF_ERROR(calibrator.Prefill(calibration));
  ATTEND_RETURN_IF_ERROR(calibrator.Decode(calibration));
  return calibration;
}

}  // namespace attend
