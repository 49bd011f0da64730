// What a plan knows of a device that need not be here: memory, bandwidth, peaks, and the shares of them that programs
// reach. Every figure says where it is from. The format: docs/reference/devices.md.
//
//   bound of compute    peak * efficiency.linear or .attention   FLOP/s
//   bound of memory     bandwidth * efficiency.read              bytes/s
//
// Errors: json_bad, device_bad with the key.
//
//   ATTEND_ASSIGN_OR_RETURN(const DeviceProfile card, ReadDeviceProfile(FindDevicePreset("h200")->json, "h200"));
//   const Calibration speeds = SpeedsOf(card, Compute::kBf16);
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "formats/embedded_file.h"
#include "tensor/calibration.h"
#include "tensor/dtype.h"

namespace attend {

// One figure as it stands in the file, or the default of one that it does not state.
struct DeviceFigure {
  std::string field;   // "memory", "peak.bf16"
  std::string figure;  // "80 GB"
  std::string source;
  double value = 0;  // bytes, bytes/s, FLOP/s, or a share of 1
};

struct DeviceProfile {
  std::string name;
  bool is_cpu = false;
  uint32_t cores = 0;  // 0: not stated
  uint64_t memory_bytes = 0;
  double bandwidth_bytes_per_s = 0;
  double link_bytes_per_s = 0;                  // between cards; 0: none
  double disk_bytes_per_s = 0;                  // reading files; 0: not stated
  std::vector<std::pair<DType, double>> peaks;  // dense FLOP/s of kBf16, kF16, kF32, kI8, those that are stated
  // Without figures of its own: what large products, fused attention and streams usually reach.
  double linear_efficiency = 0.6;
  double attention_efficiency = 0.4;
  double read_efficiency = 0.8;
  std::vector<DeviceFigure> figures;  // in the order of the format

  // nullptr where the file has none.
  const DeviceFigure* Find(std::string_view field) const;
  // Whether memory was read by this program: the bandwidth's source starts with "measured".
  bool IsMeasured() const;
  // kBf16: bf16, else f16, else f32. kF32: f32. kInt8: int8, else as kBf16. 0 where none of them is stated.
  double PeakFor(Compute compute) const;
};

// `name` stands in messages.
Result<DeviceProfile> ReadDeviceProfile(std::string_view json, std::string name);

// The profiles of data/devices, by name.
using DevicePreset = EmbeddedFile;
std::span<const DevicePreset> DevicePresets();
const DevicePreset* FindDevicePreset(std::string_view name);

// Figures that others measured and efficiencies that are assumed: less is known than of a machine that was measured.
inline constexpr Spread kStatedSpread = {.low = 0.7, .high = 1.6};

// The speeds to plan with. Linear layers of kInt8 multiply in bf16, as they do here; element_s_per_token is 0. A rate
// whose peak is not stated is 0.
Calibration SpeedsOf(const DeviceProfile& device, Compute compute);

}  // namespace attend
