// The speeds of this machine for a model: from the file, or measured now (a few seconds, once) and stored.
#pragma once

#include <cstdint>
#include <optional>

#include "attend/calibration_file.h"
#include "attend/command.h"
#include "formats/model_header.h"
#include "tensor/calibration.h"

namespace attend::cli {

struct CalibrationOptions {
  bool remeasure = false;
  bool quiet = false;                        // say nothing on stderr
  uint64_t memory_limit_bytes = UINT64_MAX;  // nothing is measured when that would take more
};

// Nothing when it could not be measured: the plan then has no times.
std::optional<Calibration> CalibrationFor(const Engine& engine, const ModelHeader& header,
                                          const CalibrationOptions& options);

// What the measurement is kept under.
CalibrationKey KeyOf(const Engine& engine, const ModelHeader& header);

}  // namespace attend::cli
