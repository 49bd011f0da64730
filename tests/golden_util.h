// Golden tensors of tests/golden and the models they belong to.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "attention/weights.h"
#include "base/machine.h"
#include "base/thread_pool.h"
#include "formats/safetensors.h"
#include "kernels/dispatch.h"
#include "model/forward.h"
#include "model/generate.h"
#include "model/load.h"

namespace attend {

inline std::string GoldenPath(const std::string& relative) {
  return std::string(ATTEND_SOURCE_DIR) + "/tests/golden/" + relative;
}

// The sanitizers make kernels about 50 times slower: long texts are left to the release build.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

class GoldenFile {
 public:
  explicit GoldenFile(const std::string& relative) : file_(SafetensorsFile::Open(GoldenPath(relative))) {
    EXPECT_TRUE(file_) << (file_ ? "" : Describe(file_.error()));
  }

  template <typename T>
  std::vector<T> Get(const std::string& name) const {
    const TensorEntry* entry = file_->FindTensor(name);
    EXPECT_NE(entry, nullptr) << name;
    std::vector<T> values(entry->bytes / sizeof(T));
    std::memcpy(values.data(), file_->Data(*entry).data(), entry->bytes);
    return values;
  }
  std::vector<uint32_t> Ids(const std::string& name) const { return Get<uint32_t>(name); }

 private:
  Result<SafetensorsFile> file_;
};

// The default model where tools/fetch-model puts it, or ATTEND_TEST_MODEL; empty when it is not there.
inline std::string RealModelPath() {
  const auto value = [](const char* name) {
    return std::string(std::getenv(name) != nullptr ? std::getenv(name) : "");
  };
  if (!value("ATTEND_TEST_MODEL").empty()) return value("ATTEND_TEST_MODEL");
  const std::string cache = value("XDG_CACHE_HOME").empty() ? value("HOME") + "/.cache" : value("XDG_CACHE_HOME");
  const std::string path = cache + "/attend/models/SmolLM2-135M-Instruct.Q4_1.gguf";
  return MappedFile::Open(path) ? path : "";
}

#define ATTEND_NEEDS_REAL_MODEL(path)       \
  const std::string path = RealModelPath(); \
  if (path.empty()) GTEST_SKIP() << "the default model is not there: run tools/fetch-model"

// A model with a transformer of one instruction set and numerics class, and a cache of the same.
struct Runner {
  LoadedModel model;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Transformer> transformer;

  Runner(const std::string& path, Isa isa, Compute compute, int64_t max_tokens = 128)
      : pool(std::make_unique<ThreadPool>(2)) {
    auto loaded = LoadModel(path, *pool);
    EXPECT_TRUE(loaded) << (loaded ? "" : Describe(loaded.error()));
    model = std::move(*loaded);
    auto made = Transformer::Make(model.front.header, model.weights, KernelsFor(isa), *pool, compute, max_tokens);
    EXPECT_TRUE(made);
    transformer = std::make_unique<Transformer>(std::move(*made));
  }

  KvCache Cache() const {
    return std::move(*KvCache::Make(CacheDescriptors(
        model.front.header, KvFormat::Both(transformer->compute() == Compute::kF32 ? DType::kF32 : DType::kBf16))));
  }

  // One head's attention weights [tokens, keys] of a layer.
  void HeadWeights(const LayerTrace& trace, int64_t head, float* weights) const {
    EXPECT_TRUE(AttentionWeights(*trace.schedule, {trace.q, trace.q_stride}, {&trace.cache, 1}, trace.lse,
                                 {0, head, {0, trace.num_tokens}, {0, trace.first_position + trace.num_tokens}},
                                 transformer->kernels(), weights));
  }

  // Logits of every token, [tokens, vocab].
  std::vector<float> AllLogits(const std::vector<uint32_t>& ids, KvCache& cache, const ForwardHooks& hooks = {}) const {
    const size_t vocab = model.front.header.vocab_size;
    std::vector<float> logits;
    for (size_t begin = 0; begin < ids.size(); begin += static_cast<size_t>(transformer->max_tokens())) {
      const size_t size = std::min(ids.size() - begin, static_cast<size_t>(transformer->max_tokens()));
      auto done = transformer->Forward(
          {ids.data() + begin, size}, cache, Logits::kAll,
          [&](int64_t, int64_t rows, const float* row, int64_t stride) {
            for (int64_t r = 0; r < rows; ++r) {
              logits.insert(logits.end(), row + r * stride, row + r * stride + vocab);
            }
          },
          hooks);
      EXPECT_TRUE(done) << (done ? "" : Describe(done.error()));
    }
    return logits;
  }
};

}  // namespace attend
