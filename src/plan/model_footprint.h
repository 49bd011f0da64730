// What a model takes in memory, reads and computes in our runtime, from its header and the list of its tensors alone.
//
//   weights        every matrix as packed (tensor/packed_bytes.h), every norm as float32
//   KV             sum over layers of CacheDescriptor, in blocks of 64 tokens
//   prefill FLOPs  linear: 2 * layer parameters * tokens + 2 * vocab * hidden (head on the last token, no embedding
//   lookup)
//                  attention: layers * 2 (Dk + Dv) Hq * visible pairs, causal: query i sees i + 1 keys
//   decode bytes   per token: all weights but an untied embedding table, and the cache up to the token's position
//
// FLOPs are doubles that hold whole numbers, exact below 2^53 = 9e15; bytes are saturated at 2^64 - 1, so that absurd
// lengths give "too much" and never wrap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "formats/model_header.h"
#include "formats/tensor_entry.h"
#include "tensor/cache_descriptor.h"
#include "tensor/runtime_bytes.h"

namespace attend {

struct ModelFootprint {
  ModelHeader header = {};
  uint64_t weights_bytes = 0;        // resident, all tensors that are loaded
  uint64_t decode_weight_bytes = 0;  // of these, read for every token
  double layer_params = 0;           // matrix parameters of all layers: active for every token
  double head_params = 0;            // vocab * hidden
};

// `tensors`: of a GGUF or safetensors file that was checked against the header.
ModelFootprint MakeFootprint(const ModelHeader& header, std::span<const TensorEntry> tensors);

// The cache of our runtime: the same K and V format in every layer.
std::vector<CacheDescriptor> CacheLayers(const ModelHeader& header, DType kv_dtype);
uint64_t KvBytesPerToken(const ModelHeader& header, DType kv_dtype);                   // exact, no rounding
uint64_t KvAllocatedBytes(const ModelHeader& header, DType kv_dtype, int64_t tokens);  // as src/cache allocates

// Activations, their bf16 copy where the processor multiplies bf16, logits and scratch of a pass of `chunk_tokens`.
uint64_t WorkspaceBytes(const ModelHeader& header, int64_t chunk_tokens, bool bf16_copy, int threads);

// The process beside the model: code, libraries, and the tokenizer's tables, which grow with the vocabulary.
uint64_t ProcessBytes(const ModelHeader& header);

// Query tokens [first, first + count), each seeing itself and all before it. Chunks of a pass add up to the pass.
double CausalPairs(int64_t first, int64_t count);
double PrefillAttentionFlops(const ModelHeader& header, int64_t first, int64_t count);
// `with_head`: logits of the last token.
double PrefillLinearFlops(const ModelFootprint& footprint, int64_t tokens, bool with_head);

// a + b and a * b, at most 2^64 - 1.
uint64_t SaturatedAdd(uint64_t a, uint64_t b);
uint64_t SaturatedMultiply(uint64_t a, uint64_t b);

}  // namespace attend
