// Times one attention case by itself. Where few query tokens meet many keys, layers with the same content are visited
// in turn, 256 MiB in all, so that K and V come from memory.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attention/statistics.h"
#include "measure/case_data.h"

namespace attend {

class AttentionBench {
 public:
  // Errors: attention_bad_shape, bad_argument, out_of_memory.
  static Result<AttentionBench> Make(const AttentionCase& c, const KernelTable& kernels, ThreadPool& pool,
                                     int64_t most_layers = int64_t{1} << 20);

  // Seconds of one call, the mean over the layers.
  Result<double> Run();

  // From here on every call is observed; a collector is made anew for each, as a user would.
  void Observe(const StatisticsCollector::Options& options) { observe_ = options; }

  double Flops() const;          // of a call: 2 (D + Dv) Hq * visible pairs
  double KvBytes() const;        // K and V of a call, without padding
  int64_t VisiblePairs() const;  // summed over sequences, of one head
  int64_t num_layers() const { return data_.num_layers(); }
  uint64_t workspace_bytes() const { return workspace_->size_bytes(); }
  const AttentionCase& attention_case() const { return case_; }

 private:
  AttentionBench(AttentionCase c, CaseData data, const KernelTable& kernels, ThreadPool& pool)
      : case_(std::move(c)), data_(std::move(data)), kernels_(&kernels), pool_(&pool) {}

  AttentionCase case_;
  CaseData data_;
  const KernelTable* kernels_;
  ThreadPool* pool_;
  std::unique_ptr<AttentionSchedule> schedule_;
  std::vector<std::vector<KvView>> caches_;  // a layer
  AlignedBuffer<float> out_, lse_;
  std::optional<StatisticsCollector::Options> observe_;
  std::unique_ptr<AttentionWorkspace> workspace_ = std::make_unique<AttentionWorkspace>();
};

}  // namespace attend
