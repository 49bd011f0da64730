// The model that `plan` plans for: one that runs here, or the shape of one alone, from a config.json, a GGUF header or by
// a name of data/models. No weight is read.
#pragma once

#include <optional>
#include <string>

#include "attend/command.h"
#include "model/load.h"
#include "plan/model_footprint.h"

namespace attend::cli {

struct PlannedModel {
  std::optional<ModelFrontEnd> front;  // with the tokenizer, of a model that runs here
  std::optional<ModelShape> shape;     // of one that does not
};

// Errors: those of finding and reading the model.
Result<PlannedModel> FindPlannedModel(const EngineOptions& options);

// Errors: those of the model's file; usage_error for kOurs and a model that does not run here.
Result<ModelFootprint> FootprintFor(const PlannedModel& model, Policy policy);

}  // namespace attend::cli
