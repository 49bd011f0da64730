// Times whole passes of a model through the real Transformer and KvCache: reading a prompt (pp) and generating (tg), at
// a depth.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cache/kv_cache.h"
#include "measure/peaks.h"
#include "model/forward.h"
#include "tensor/kv_format.h"

namespace attend {

enum class ModelTestKind { kPrompt, kGeneration };

struct ModelTest {
  ModelTestKind kind = ModelTestKind::kPrompt;
  int64_t tokens = 0;  // read or generated
  int64_t depth = 0;   // tokens in the cache before

  bool operator==(const ModelTest&) const = default;
};

// "pp512", "tg64", "tg64@d7500", "tg64 @ d7500". Errors: bad_argument.
Result<ModelTest> ParseModelTest(std::string_view text);
Result<std::vector<ModelTest>> ParseModelTests(std::string_view comma_separated);

// As the field names them: "pp512", "tg64 @ d7500".
std::string NameOf(const ModelTest& test);

class ModelBench {
 public:
  // `header` and `weights` must outlive the bench. Errors: out_of_memory; bad_argument for a cache format.
  static Result<ModelBench> Make(const ModelHeader& header, const ModelWeights& weights, const KernelTable& kernels,
                                 ThreadPool& pool, Compute compute, KvFormat kv_format);

  // Seconds of one run. What the depth needs is read once, before the clock starts, and kept for later runs.
  Result<double> Run(const ModelTest& test);

  // Seconds that the measured peaks allow: a prompt's FLOPs, a generation's bytes.
  double BoundSeconds(const ModelTest& test, const Peaks& peaks) const;

 private:
  ModelBench(const ModelWeights& weights, Transformer transformer, KvCache prefix, KvFormat kv_format)
      : weights_(&weights), transformer_(std::move(transformer)), prefix_(std::move(prefix)), kv_format_(kv_format) {}

  Result<void> Read(KvCache& cache, int64_t tokens);
  Result<void> Generate(KvCache& cache, int64_t tokens);

  const ModelWeights* weights_;
  Transformer transformer_;
  KvCache prefix_;  // the deepest that a test asked for; runs work on forks of it
  KvFormat kv_format_;
};

}  // namespace attend
