// A model of a header's sizes with made-up 4-bit weights: speed depends on shapes, not on values.
#pragma once

#include "base/error.h"
#include "base/thread_pool.h"
#include "formats/model_header.h"
#include "model/weights.h"

namespace attend {

struct SyntheticModel {
  ModelHeader header;  // that of the model, with as many layers and vocabulary entries as the weights have
  ModelWeights weights;
};

// As many of the header's layers as fit `weight_bytes`, one at least, and at most kSyntheticVocabulary tokens, with the
// output head tied. Errors: out_of_memory.
inline constexpr uint32_t kSyntheticVocabulary = 4096;
Result<SyntheticModel> MakeSyntheticModel(const ModelHeader& header, uint64_t weight_bytes, ThreadPool& pool);

}  // namespace attend
