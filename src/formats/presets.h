// Models that are known by name, from data/models: a config.json each, its source, and the parameters it was published
// with. The program holds the files' text.
//
// Errors: model_not_found, with the names that are there.
#pragma once

#include <span>
#include <string_view>

#include "formats/embedded_file.h"
#include "formats/model_shape.h"

namespace attend {

using Preset = EmbeddedFile;

// By name.
std::span<const Preset> Presets();

// Without regard to case.
const Preset* FindPreset(std::string_view name);

Result<ModelShape> ReadPreset(const Preset& preset);

}  // namespace attend
