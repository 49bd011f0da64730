// The weights of a Llama-family model, packed for the kernels, and how they are loaded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "formats/model_header.h"
#include "kernels/packed_matrix.h"

namespace attend {

struct LayerWeights {
  AlignedBuffer<float> attention_norm;  // [hidden]
  PackedMatrix query;                   // [Hq * D, hidden]; rows half-split (RowOrder)
  PackedMatrix key;                     // [Hkv * D, hidden]; rows half-split
  PackedMatrix value;                   // [Hkv * Dv, hidden]
  PackedMatrix output;                  // [hidden, Hq * Dv]
  AlignedBuffer<float> mlp_norm;        // [hidden]
  PackedMatrix gate, up;                // [intermediate, hidden]
  PackedMatrix down;                    // [hidden, intermediate]
};

struct ModelWeights {
  PackedMatrix embedding;  // [vocab, hidden]
  std::vector<LayerWeights> layers;
  AlignedBuffer<float> final_norm;         // [hidden]
  std::optional<PackedMatrix> vocabulary;  // [vocab, hidden]; absent when tied to the embedding

  const PackedMatrix& output_head() const { return vocabulary ? *vocabulary : embedding; }
  uint64_t size_bytes() const;
  // The first tensor with a NaN or infinite weight, or nothing.
  std::optional<std::string> FindNonfinite() const;
};

// Packs every tensor and lets the kernel drop its mapped pages right after. Errors: out_of_memory,
// unsupported_tensor_type, and file_changed when the file is no longer what was opened.
Result<ModelWeights> LoadWeights(const ModelHeader& header, const GgufFile& file, ThreadPool& pool);
Result<ModelWeights> LoadWeights(const ModelHeader& header, const SafetensorsFile& file, ThreadPool& pool);

}  // namespace attend
