// Which keys some tokens looked at: the exact attention weights of those tokens, summed over layers and heads,
// with the sink tokens at the start of the sequence taken out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "model/forward.h"

namespace attend {

inline constexpr int64_t kNumSinkTokens = 4;  // first keys of the sequence: they hold mass whatever the text is

struct HeadAddress {
  int64_t layer = 0;
  int64_t head = 0;
};

// Collects, for every key, the mass that the observed tokens put on it. Give hooks() to passes of the tokens of
// interest.
class AttendedMass {
 public:
  // `heads`: those to look at; empty: all.
  AttendedMass(const Transformer& transformer, ThreadPool& pool, std::span<const HeadAddress> heads = {});

  ForwardHooks hooks();

  // Mass of each key [num_keys seen], summed over tokens, layers and heads; the first kNumSinkTokens are 0.
  std::span<const double> mass() const { return mass_; }
  int64_t num_tokens() const { return num_tokens_; }
  // The first error of a pass: then mass() is not all there is. Errors: out_of_memory.
  const Result<void>& status() const { return status_; }

 private:
  void Observe(const LayerTrace& trace);

  const Transformer* transformer_;
  ThreadPool* pool_;
  std::vector<std::vector<int64_t>> heads_of_layer_;
  std::vector<double> mass_;
  int64_t num_tokens_ = 0;
  Result<void> status_;
};

}  // namespace attend
