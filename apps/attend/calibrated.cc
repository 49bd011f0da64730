#include "attend/calibrated.h"

#include <fmt/format.h>

#include "measure/calibrate.h"

namespace attend::cli {

CalibrationKey KeyOf(const Engine& engine, const ModelHeader& header) {
  return {engine.machine.cpu_name,    std::string(NameOf(engine.machine.isa)),
          engine.pool->num_threads(), engine.compute,
          engine.kv_format,           header};
}

std::optional<Calibration> CalibrationFor(const Engine& engine, const ModelHeader& header,
                                          const CalibrationOptions& options) {
  const CalibrationKey key = KeyOf(engine, header);
  const std::string path = CalibrationPath();
  if (!options.remeasure) {
    if (auto found = FindCalibration(path, key)) return found;
  }
  if (options.memory_limit_bytes < kCalibrationBytes) {
    fmt::print(
        stderr,
        "attend: no times in the plan: this machine was not measured yet, and measuring takes {} of memory, which "
        "is more than the limit. attend plan without --memory measures it\n",
        FormatBytes(kCalibrationBytes));
    return std::nullopt;
  }
  if (!options.quiet) fmt::print(stderr, "Measuring this machine once, a few seconds...\n");
  auto measured = Calibrate(engine.machine, *engine.kernels, *engine.pool, engine.compute, engine.kv_format, header);
  if (!measured) {
    fmt::print(stderr, "attend: no times in the plan: {}\n", Describe(measured.error()));
    return std::nullopt;
  }
  ResetPeakResidentBytes();  // what comes next is compared with its plan
  if (const auto stored = StoreCalibration(path, key, *measured); !stored) {
    fmt::print(stderr, "attend: the measurement is not kept: {}\n", Describe(stored.error()));
  }
  return *measured;
}

}  // namespace attend::cli
