// What -m means for a plan: a model that runs here, or only the shape of one: a config.json (a file, its folder, or -
// for standard input), a name of data/models, or a GGUF file or folder that does not run here (header_footprint.h). A
// name of data/models goes before names of local models, a path before both.
#pragma once

#include <optional>
#include <string>

#include "attend/command.h"
#include "model/load.h"
#include "plan/model_footprint.h"

namespace attend::cli {

struct PlannedModel {
  std::optional<ModelFrontEnd> front;    // of a model that runs here
  std::optional<ModelFootprint> header;  // of a file or folder that does not: its weights as they are stored
  std::optional<ModelShape> shape;       // of a configuration or a name
};

// Errors: those of finding and reading the model.
Result<PlannedModel> FindPlannedModel(const EngineOptions& options, TokenizerUse tokenizer);

// Precondition: the policy applies (PolicyFor). Errors: those of the model's file.
Result<ModelFootprint> FootprintFor(const PlannedModel& model, Policy policy);

}  // namespace attend::cli
