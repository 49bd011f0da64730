// What a model takes in memory and reads in our runtime, from its header and the list of its tensors alone.
//
//   weights        every matrix as packed (tensor/packed_bytes.h), every norm as float32
//   KV             sum over layers of CacheDescriptor, in blocks of 64 tokens
//   decode bytes   per token: all weights but an untied embedding table, and the cache up to the token's position
//
// Bytes are saturated at 2^64 - 1, so that absurd lengths give "too much" and never wrap. FLOPs:
// formats/model_shapes.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "formats/model_header.h"
#include "formats/model_shape.h"
#include "formats/tensor_entry.h"
#include "plan/policy.h"
#include "tensor/cache_descriptor.h"
#include "tensor/runtime_bytes.h"

namespace attend {

struct ModelFootprint {
  ModelShape shape = {};
  ActivationShape activations = {};  // kOurs only
  Policy policy = Policy::kOurs;
  uint64_t weights_bytes = 0;        // resident, all tensors that are loaded
  uint64_t decode_weight_bytes = 0;  // of these, read for every token
};

// `tensors`: of a GGUF or safetensors file that was checked against the header.
// kOurs: weights as we pack them; otherwise as the file stores them.
ModelFootprint MakeFootprint(const ModelHeader& header, std::span<const TensorEntry> tensors,
                             Policy policy = Policy::kOurs);
// With weights of shape.weight_bits a parameter; of experts the active ones are read for a token.
ModelFootprint MakeFootprint(ModelShape shape, Policy policy = Policy::kFormula);

// What one of `num_devices` holds and computes of it, tensor parallel: weights and heads are divided, a head that is
// not divisible is held by each. Precondition: num_devices >= 1.
ModelFootprint Shard(ModelFootprint footprint, int64_t num_devices);

// The cache of one sequence as src/cache allocates it.
uint64_t KvAllocatedBytes(const ModelShape& shape, KvFormat kv_format, int64_t tokens);

// kOurs. Activations, their bf16 copy where the processor multiplies bf16, `logit_rows` of logits and scratch of a pass
// of `chunk_tokens`.
uint64_t WorkspaceBytes(const ModelFootprint& footprint, int64_t chunk_tokens, int64_t logit_rows, bool bf16_copy,
                        int threads);

// kOurs. The process beside the model: code, libraries, and the tokenizer's tables, which grow with the vocabulary.
uint64_t ProcessBytes(const ModelFootprint& footprint);

// kOurs. A document that is read and answered from, beside the passes.
uint64_t TextBytes(int64_t document_tokens);

// a + b and a * b, at most 2^64 - 1.
uint64_t SaturatedAdd(uint64_t a, uint64_t b);
uint64_t SaturatedMultiply(uint64_t a, uint64_t b);

}  // namespace attend
