// How much a transformer pass must compute and read at least: what bench divides measured times by. Head and vocabulary
// of a prompt count for its last token only, since nothing else is asked for.
#pragma once

#include <cstdint>

#include "formats/model_header.h"
#include "model/weights.h"
#include "tensor/kv_format.h"

namespace attend {

// FLOPs of a prompt of `tokens` tokens after `depth` others, with the logits of the last.
double PromptFlops(const ModelHeader& header, int64_t tokens, int64_t depth);

// Bytes of weights that one generated token reads: all but an embedding that is not the output head.
double WeightBytesRead(const ModelWeights& weights);

// Bytes that generating `tokens` tokens from `depth` on reads: weights once a token, and the cache as it is then.
double GenerationBytes(const ModelHeader& header, const ModelWeights& weights, KvFormat kv_format, int64_t tokens,
                       int64_t depth);

}  // namespace attend
