// The heads of known models in which retrieval happens: their attention from a question to the passage that answers it.
// The sum over all heads is worthless.
#pragma once

#include <span>

#include "formats/model_header.h"
#include "inspect/attended_mass.h"

namespace attend {

// Empty for a model that is not known: the attention rule is then left out.
std::span<const HeadAddress> RetrievalHeads(const ModelHeader& header);

}  // namespace attend
