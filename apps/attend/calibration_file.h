// Measured speeds kept between runs: ${XDG_CACHE_HOME:-~/.cache}/attend/calibration.json, one entry a processor,
// instruction set, thread count, numerics class, cache format, model and program version. A folder that cannot be read
// or written costs a new measurement, never the command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/model_header.h"
#include "tensor/calibration.h"
#include "tensor/kv_format.h"

namespace attend::cli {

struct CalibrationKey {
  std::string cpu_name;
  std::string isa;
  int threads = 0;
  Compute compute = Compute::kBf16;
  KvFormat kv_format;
  ModelHeader model;  // rates and the element time are those of its shapes
};

// The path of the file, or empty when there is neither XDG_CACHE_HOME nor HOME.
std::string CalibrationPath();

// Its spread is that of the runs verified with it. Nothing when there is no such entry, or the file is not what this
// program writes.
std::optional<Calibration> FindCalibration(const std::string& path, const CalibrationKey& key);

// What a plan said and what its run took, of the run's calibration: a new calibration forgets them.
struct VerifiedRun {
  int64_t tokens = 0;       // of a pass
  double memory_ratio = 0;  // measured / planned
  double prefill_ratio = 0;
  double decode_ratio = 0;
  double total_ratio = 0;
};
std::vector<VerifiedRun> FindVerifiedRuns(const std::string& path, const CalibrationKey& key);
// Keeps the latest of them. Without a calibration of that key nothing is kept. Errors: file_unwritable.
Result<void> AddVerifiedRun(const std::string& path, const CalibrationKey& key, const VerifiedRun& run);

// Keeps the entries of other keys; the file is replaced in one step. Errors: file_unwritable.
Result<void> StoreCalibration(const std::string& path, const CalibrationKey& key, const Calibration& calibration);

}  // namespace attend::cli
