// Footprints by the formula of models that do not run here, from the headers of their files: no weight is read.
#pragma once

#include <string>

#include "plan/model_footprint.h"

namespace attend::cli {

// The weights may be missing, the tensor table not. Errors: those of the GGUF reader and of its shape.
Result<ModelFootprint> FootprintOfGguf(const std::string& path);

// config.json with the tensor list of model.safetensors. Errors: those of both, safetensors_bad_tensor where the K and
// V matrices contradict the configuration.
Result<ModelFootprint> FootprintOfFolder(const std::string& folder);

}  // namespace attend::cli
