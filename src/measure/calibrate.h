// Finds the speeds that the plan computes with, by running a synthetic model of the real model's shapes on this
// machine. A few seconds, and memory of at most kCalibrationBytes.
#pragma once

#include "base/error.h"
#include "base/machine.h"
#include "base/thread_pool.h"
#include "formats/model_header.h"
#include "kernels/kernel_table.h"
#include "tensor/calibration.h"
#include "tensor/kv_format.h"

namespace attend {

// Beyond the last cache of most machines, as the real weights and cache are: a model that fits the cache reads faster.
inline constexpr uint64_t kCalibrationWeightBytes = uint64_t{128} << 20;
inline constexpr uint64_t kCalibrationCacheBytes = uint64_t{128} << 20;
// With activations, and the packed matrices' rounding.
inline constexpr uint64_t kCalibrationBytes = kCalibrationWeightBytes + kCalibrationCacheBytes + (uint64_t{128} << 20);

// Errors: out_of_memory.
Result<Calibration> Calibrate(const Machine& machine, const KernelTable& kernels, ThreadPool& pool, Compute compute,
                              const KvFormat& kv_format, const ModelHeader& header);

}  // namespace attend
