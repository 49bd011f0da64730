#include "formats/presets.h"

#include <nlohmann/json.hpp>

#include "formats/config_fields.h"
#include "formats/json.h"

namespace attend {
namespace {

// Parameters that are stated and do not follow from the shape: all in the layers, each active.
void DivideAmongLayers(ModelShape& shape) {
  shape.table_parameters = shape.head_parameters = 0;
  for (LayerShape& layer : shape.layers) {
    layer.parameters = layer.active_parameters = shape.stated_parameters / static_cast<double>(shape.layers.size());
  }
}

}  // namespace

const Preset* FindPreset(std::string_view name) {
  return FindEmbedded(Presets(), name);
}

Result<ModelShape> ReadPreset(const Preset& preset) {
  const std::string where = "model " + std::string(preset.name);
  ATTEND_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(preset.json, where));
  HeaderSource source;
  source.bad_value = ErrorCode::kConfigBad;
  source.where = where;
  const ConfigFields fields(json, source);
  const nlohmann::json* config = fields.Find("config");
  if (config == nullptr) return fields.Wrong("config", "an object", config);
  ATTEND_ASSIGN_OR_RETURN(ModelShape shape, ShapeOfConfig(*config, where));
  ATTEND_ASSIGN_OR_RETURN(shape.stated_parameters, fields.Real("parameters", {1, 1e15}));
  ATTEND_ASSIGN_OR_RETURN(const bool follow, fields.Flag("parameters_follow", true));
  if (!follow) DivideAmongLayers(shape);
  shape.name = preset.name;
  return shape;
}

}  // namespace attend
