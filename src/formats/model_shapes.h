// What follows from a model's header alone, for the plan, the bench and the forward pass alike: the cache of each
// layer, the shape of a pass, and the floating-point operations of a pass. FLOPs are doubles that hold whole numbers,
// exact below 2^53 = 9e15.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/model_header.h"
#include "formats/model_shape.h"
#include "tensor/cache_descriptor.h"
#include "tensor/runtime_bytes.h"

namespace attend {

// As a plan sees a model that runs here.
ModelShape ShapeOf(const ModelHeader& header);

// The cache that a model needs, one descriptor a layer, with K and V in one format.
std::vector<CacheDescriptor> CacheDescriptors(const ModelHeader& header, KvFormat kv_format);

ActivationShape ActivationShapeOf(const ModelHeader& header);

// Parameters of the matrices of all layers: active for every token.
double LayerParams(const ModelHeader& header);

// FLOPs of the matmuls of all layers for one token: 2 a parameter.
double LinearFlopsPerToken(const ModelHeader& header);

// Query and key pairs that `tokens` tokens after `depth` others see, causally: each sees itself and all before it. The
// chunks of a pass add up to the pass.
double CausalPairs(int64_t depth, int64_t tokens);

}  // namespace attend
