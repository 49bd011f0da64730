#include "attend/planned_model.h"

#include <filesystem>

#include "attend/make_plan.h"
#include "base/mapped_file.h"
#include "formats/model_shapes.h"
#include "formats/presets.h"

namespace attend::cli {
namespace {

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// The config.json that `model` names where no weights lie beside it; empty: it names something else.
std::string ConfigPath(const std::string& model) {
  if (model == "-" || model.ends_with(".json")) return model;
  const std::string inside = model + "/config.json";
  return !model.empty() && Exists(inside) && !Exists(model + "/model.safetensors") ? inside : "";
}

Result<ModelShape> ReadConfig(const std::string& path) {
  ATTEND_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMostConfigBytes));
  return ReadModelShape(text, path == "-" ? "standard input" : path);
}

}  // namespace

Result<PlannedModel> FindPlannedModel(const EngineOptions& options) {
  PlannedModel planned;
  if (const std::string config = ConfigPath(options.model); !config.empty()) {
    ATTEND_ASSIGN_OR_RETURN(planned.shape, ReadConfig(config));
  } else if (auto path = FindModel(options); path) {
    ATTEND_ASSIGN_OR_RETURN(planned.front, LoadFrontEnd(*path));
  } else {
    const Preset* preset = FindPreset(options.model);
    if (path.error().code != ErrorCode::kModelNotFound || preset == nullptr) return tl::unexpected(path.error());
    ATTEND_ASSIGN_OR_RETURN(planned.shape, ReadPreset(*preset));
  }
  return planned;
}

Result<ModelFootprint> FootprintFor(const PlannedModel& model, Policy policy) {
  if (model.front) return FootprintOf(*model.front, policy);
  if (policy == Policy::kOurs) {
    return tl::unexpected(
        UsageError("--policy", "formula, llama.cpp, vllm, hf-eager or hf-sdpa: this model does not run here", "ours"));
  }
  return MakeFootprint(*model.shape, policy);
}

}  // namespace attend::cli
