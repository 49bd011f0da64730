#include "measure/peaks.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/aligned_buffer.h"
#include "measure/timer.h"

namespace attend {
namespace {

constexpr int64_t kUnitsAThread = 16;  // so that a thread that wakes late costs one unit of 16 at most
constexpr int64_t kReadUnitBytes = int64_t{2} << 20;

using ComputeLoop = double (*)(int64_t steps);

// Steps that take about `seconds` on one thread.
int64_t StepsFor(ComputeLoop loop, double seconds) {
  for (int64_t steps = 1024;; steps *= 2) {
    const double took = SecondsOf([&] { loop(steps); });
    if (took * 8 >= seconds)
      return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(steps) * seconds / took));
  }
}

double ComputePeak(ComputeLoop loop, ThreadPool& pool, const PeakOptions& options) {
  const int64_t units = kUnitsAThread * pool.num_threads();
  const int64_t steps = StepsFor(loop, options.compute_seconds / kUnitsAThread);
  std::vector<double> operations(static_cast<size_t>(units));
  double best = 0;
  for (int round = 0; round < options.rounds; ++round) {
    const double seconds =
        SecondsOf([&] { pool.ParallelFor(units, [&](int64_t unit, int) { operations[unit] = loop(steps); }); });
    double sum = 0;
    for (double count : operations) sum += count;
    best = std::max(best, sum / seconds);
  }
  return best;
}

double ReadPeak(const KernelTable& kernels, const AlignedBuffer<uint8_t>& buffer, ThreadPool& pool, int rounds) {
  const int64_t bytes = static_cast<int64_t>(buffer.size());
  const int64_t units = (bytes + kReadUnitBytes - 1) / kReadUnitBytes;
  std::atomic<uint32_t> sum{0};  // keeps the reads from being removed
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    const double seconds = SecondsOf([&] {
      pool.ParallelFor(units, [&](int64_t unit, int) {
        const int64_t begin = unit * kReadUnitBytes;
        sum.fetch_add(kernels.read_loop(buffer.data() + begin, std::min(kReadUnitBytes, bytes - begin)));
      });
    });
    best = std::max(best, static_cast<double>(bytes) / seconds);
  }
  return best;
}

}  // namespace

Result<Peaks> MeasurePeaks(const KernelTable& kernels, ThreadPool& pool, const PeakOptions& options) {
  Peaks peaks;
  peaks.threads = pool.num_threads();
  peaks.fma_flops_per_s = ComputePeak(kernels.fma_loop, pool, options);
  // Where there is no bf16 instruction both loops are the FMA: the better of two measurements is its peak.
  peaks.bf16_flops_per_s = std::max(peaks.fma_flops_per_s, ComputePeak(kernels.bf16_loop, pool, options));
  if (!kernels.has_bf16_dot) peaks.fma_flops_per_s = peaks.bf16_flops_per_s;

  ATTEND_ASSIGN_OR_RETURN(auto buffer, AlignedBuffer<uint8_t>::Make(options.read_bytes, "read bandwidth buffer"));
  // Pages that nobody wrote are all the same zero page and would be read from the cache.
  pool.ParallelFor(static_cast<int64_t>(buffer.size() / kReadUnitBytes) + 1, [&](int64_t unit, int) {
    const int64_t begin = unit * kReadUnitBytes, left = static_cast<int64_t>(buffer.size()) - begin;
    if (left > 0) std::memset(buffer.data() + begin, 1, static_cast<size_t>(std::min(kReadUnitBytes, left)));
  });
  ThreadPool one(1);
  const int read_rounds = std::max(1, options.rounds / 2);
  peaks.read_1_bytes_per_s = ReadPeak(kernels, buffer, one, read_rounds);
  peaks.read_bytes_per_s =
      pool.num_threads() == 1 ? peaks.read_1_bytes_per_s : ReadPeak(kernels, buffer, pool, read_rounds);
  return peaks;
}

}  // namespace attend
