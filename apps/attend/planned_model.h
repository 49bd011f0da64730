// What -m means for a plan: a model that runs here, or only the shape of one: a config.json (a file, its folder, or -
// for standard input), a name of data/models, or a GGUF file or folder that does not run here (header_footprint.h). A
// name of data/models goes before names of local models, a path before both.
#pragma once

#include <optional>
#include <string>

#include "attend/command.h"
#include "plan/model_footprint.h"

namespace attend::cli {

struct PlannedModel {
  ModelFootprint footprint;
  std::optional<ModelFrontEnd> front;  // absent: it does not run here, and there is no tokenizer to count a document
};

// `policy`: ours, formula, or empty for ours where the model runs here and formula elsewhere. Errors: model_not_found,
// usage_error for ours without a model that runs here, and those of the model's file.
Result<PlannedModel> FindPlannedModel(const EngineOptions& options, const std::string& policy);

}  // namespace attend::cli
