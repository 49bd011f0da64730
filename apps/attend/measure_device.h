// This machine as a device profile: what its memory, units and disk reach with this program's own loops.
#pragma once

#include <string>

#include "attend/command.h"
#include "formats/device_profile.h"

namespace attend::cli {

struct MeasuredDevice {
  std::string json;  // a profile in the format of data/devices
  std::string note;  // what was not measured and why; may be empty
};

// About two seconds and what the disk takes. The disk is read through the model that the options name, or through a
// temporary file in `folder` where that is small or not there. Errors: out_of_memory, unknown_isa, file_unwritable,
// model_not_found for a model that was asked for.
Result<MeasuredDevice> MeasureDevice(const EngineOptions& options, const std::string& folder);

}  // namespace attend::cli
