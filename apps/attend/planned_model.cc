#include "attend/planned_model.h"

#include <filesystem>

#include "attend/header_footprint.h"
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

// A file of a model that does not run here is planned by its header. Damage stays an error: of the file's bytes only
// those of the weights may be missing.
bool MayBePlanned(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUnsupportedArchitecture:
    case ErrorCode::kUnsupportedFeature:
    case ErrorCode::kUnsupportedTensorType:
    case ErrorCode::kTokenizerUnsupported:
    case ErrorCode::kGgufTruncated:
    case ErrorCode::kGgufBadOffset:  // beyond the file's end
      return true;
    default:
      return false;
  }
}

Result<PlannedModel> PlanFile(const std::string& path, TokenizerUse tokenizer) {
  PlannedModel planned;
  auto front = LoadFrontEnd(path, tokenizer);
  if (front) {
    planned.front = std::move(*front);
    return planned;
  }
  if (!MayBePlanned(front.error())) return tl::unexpected(std::move(front.error()));
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  ATTEND_ASSIGN_OR_RETURN(planned.header, is_folder ? FootprintOfFolder(path) : FootprintOfGguf(path));
  return planned;
}

Result<PlannedModel> PlanShape(Result<ModelShape> shape) {
  if (!shape) return tl::unexpected(std::move(shape.error()));
  PlannedModel planned;
  planned.shape = std::move(*shape);
  return planned;
}

}  // namespace

// The name of a preset is not the beginning of a local model's name: that one is found by all of its own.
Result<PlannedModel> FindPlannedModel(const EngineOptions& options, TokenizerUse tokenizer) {
  if (const std::string config = ConfigPath(options.model); !config.empty()) return PlanShape(ReadConfig(config));
  const Preset* preset = Exists(options.model) ? nullptr : FindPreset(options.model);
  if (preset != nullptr) return PlanShape(ReadPreset(*preset));
  ATTEND_ASSIGN_OR_RETURN(const std::string path, FindModel(options));
  return PlanFile(path, tokenizer);
}

Result<ModelFootprint> FootprintFor(const PlannedModel& model, Policy policy) {
  if (model.front) return FootprintOf(*model.front, policy);
  if (!model.header) return MakeFootprint(*model.shape, policy);
  ModelFootprint footprint = *model.header;
  footprint.policy = policy;
  return footprint;
}

}  // namespace attend::cli
