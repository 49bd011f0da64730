// What a pass takes beside the weights, by the rules of the footprint's policy.
//
//   ours        cache in tiles of 64 tokens, activations of a chunk, the process (tensor/runtime_bytes.h)
//   formula     the cache exactly, nothing else
//   llama.cpp   cells = sum of the sequences, rounded up to 256; window layers min(cells, w * sequences + n_ubatch,
//               rounded up to 256); a compute buffer of n_ubatch tokens: 4 B of (vocab + hidden) or of the MLP, the
//               mask, and without flash attention K*Q: heads * cells * n_ubatch * 4 B
//   vLLM        pages of 16 tokens, window layers as full ones; activations of max_num_batched_tokens
//   hf-sdpa     the cache exactly, activations of the whole prompt
//   hf-eager    the same, and the scores of one layer: heads * T^2 at 2 + 4 B; with `keeps_maps` all maps at 2 B
//
// Compute buffers and activations of the other runtimes are estimates: their peak of one layer, as their code reads.
// Bytes are saturated at 2^64 - 1 and never fall with `tokens`.
#pragma once

#include <cstdint>

#include "plan/model_footprint.h"

namespace attend {

// What memory depends on beside model, cache format and tokens; each runtime reads its own.
struct RuntimeSettings {
  int64_t concurrent = 1;                             // sequences at once, all of the same length
  int64_t chunk_tokens = kDefaultPrefillChunkTokens;  // ours
  int threads = 1;                                    // ours
  int64_t quoted_questions = 0;   // ours: answered by scoring the passages, each on forks of the cache
  bool bf16_copy = true;          // ours: the processor multiplies bf16, the workspace holds a copy
  int64_t ubatch_tokens = 512;    // llama.cpp: -ub
  bool flash_attention = true;    // llama.cpp: -fa
  int64_t page_tokens = 16;       // vLLM: --block-size
  int64_t batched_tokens = 8192;  // vLLM: --max-num-batched-tokens
  bool keeps_maps = false;        // hf-eager: output_attentions=True
};

struct RuntimeMemory {
  uint64_t kv_bytes = 0;
  uint64_t workspace_bytes = 0;
  uint64_t process_bytes = 0;
};

RuntimeMemory RuntimeMemoryOf(const ModelFootprint& footprint, KvFormat kv_format, int64_t tokens,
                              const RuntimeSettings& settings);

// Activations of `tokens` tokens at once, in 16 bits: an estimate, the widest point of one layer.
uint64_t UnchunkedActivationBytes(const ModelShape& shape, uint64_t tokens);

// heads * cells * n_ubatch * 4 B of the layer with most heads: what flash attention does without.
uint64_t KqBufferBytes(const ModelShape& shape, uint64_t cells, int64_t ubatch_tokens);
// Every layer's and head's T x T weights in 16 bits, if they were kept.
uint64_t AttentionMapBytes(const ModelShape& shape, uint64_t tokens);

}  // namespace attend
