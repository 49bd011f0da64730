// One pass of a Llama-family transformer (Touvron et al. 2023, arXiv:2302.13971) over some tokens, appended to a KV
// cache. Prefill, chunked prefill and decode are the same call with more or fewer tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attention/run.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "cache/kv_cache.h"
#include "formats/model_header.h"
#include "formats/model_shapes.h"
#include "kernels/kernel_table.h"
#include "model/weights.h"
#include "tensor/compute.h"

namespace attend {

// What a layer shows while it runs. Rows are the tokens of this pass; pointers are valid during the call only.
struct LayerTrace {
  int64_t layer;
  int64_t first_position;
  int64_t num_tokens;
  const float* input;  // [num_tokens, hidden_stride] residual stream entering the layer
  int64_t hidden_stride;
  const float* q;  // [num_tokens, q_stride] after rope, heads side by side
  int64_t q_stride;
  const float* lse;  // [num_tokens, Hq]
  KvView cache;
  const AttentionSchedule* schedule;  // of this layer's attention
};

struct ForwardHooks {
  std::function<void(const LayerTrace&)> on_layer;  // after attention of each layer
  std::function<void(const float* hidden, int64_t stride)>
      on_final_hidden;  // residual after the last layer, before its norm
};

enum class Logits {
  kNone,
  kLast,  // of the last token
  kAll,   // of every token, handed over in groups of at most kLogitRows rows
};

class Transformer {
 public:
  // Errors: out_of_memory for the activations of `max_tokens` tokens.
  static Result<Transformer> Make(const ModelHeader& header, const ModelWeights& weights, const KernelTable& kernels,
                                  ThreadPool& pool, Compute compute, int64_t max_tokens = kDefaultPrefillChunkTokens);

  // Appends `tokens` (at most max_tokens) to the cache. on_logits(first_row, rows, logits [rows, stride], stride) is
  // called in order. Errors: bad_argument for an id outside the vocabulary, context_exceeded beyond max_tokens,
  // out_of_memory; the cache is then as before.
  using LogitsFn = std::function<void(int64_t first_row, int64_t rows, const float* logits, int64_t stride)>;
  Result<void> Forward(std::span<const uint32_t> tokens, KvCache& cache, Logits wanted, const LogitsFn& on_logits,
                       const ForwardHooks& hooks = {});

  const ModelHeader& header() const { return *header_; }
  const KernelTable& kernels() const { return *kernels_; }
  Compute compute() const { return compute_; }
  int64_t max_tokens() const { return max_tokens_; }
  int64_t attention_rows() const { return attention_rows_; }  // query rows that went through the engine so far
  uint64_t workspace_bytes() const;

 private:
  // Float rows [max_tokens, stride].
  struct Rows {
    AlignedBuffer<float> data;
    int64_t stride = 0;
    float* row(int64_t i) { return data.data() + i * stride; }
  };
  struct Product {
    const PackedMatrix* weights;
    float* out;
    int64_t out_stride;
  };

  Transformer() = default;
  Result<void> Allocate();
  Result<void> NeedLogits(Logits wanted);  // one row for the last token, kLogitRows for all: made when first wanted
  Result<void> CheckTokens(std::span<const uint32_t> tokens) const;

  void Embed(std::span<const uint32_t> tokens);
  void FillAngles(int64_t first_position, int64_t count);
  Result<AttentionSchedule> Schedule(int64_t q_len, int64_t kv_len) const;
  Result<void> AttentionBlock(int64_t layer, int64_t count, const AttentionSchedule& schedule, KvCache& cache,
                              const ForwardHooks& hooks);
  void MlpBlock(int64_t layer, int64_t count);
  void EmitLogits(int64_t count, Logits wanted, const LogitsFn& on_logits);

  void Norm(const float* weight, Rows& in, Rows& out, int64_t first, int64_t count);
  void Rotate(Rows& x, int64_t num_heads, int64_t count);
  void EnterMatmul(float* rows, int64_t stride, int64_t width, int64_t count);
  void Multiply(const float* in, int64_t stride, int64_t count, bool accumulate,
                std::initializer_list<Product> products);

  const ModelHeader* header_ = nullptr;
  const ModelWeights* weights_ = nullptr;
  const KernelTable* kernels_ = nullptr;
  ThreadPool* pool_ = nullptr;
  Compute compute_ = Compute::kBf16;
  int64_t max_tokens_ = 0;
  int64_t attention_rows_ = 0;
  std::vector<double> inv_freq_;
  Rows x_, h_, q_, k_, v_, z_, gate_, up_, logits_;
  Rows cosine_, sine_;
  AlignedBuffer<float> lse_;
  AlignedBuffer<uint16_t> bf16_;         // bf16 copy of a matmul's input, where the kernels want it
  AlignedBuffer<float> matmul_scratch_;  // [threads, kMatmulScratchFloats]
  AttentionWorkspace attention_workspace_;
};

}  // namespace attend
