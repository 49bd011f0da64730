// Devices as tables and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "attend/find_device.h"
#include "base/machine.h"

namespace attend::cli {

// A device and its profile, or why it cannot be read.
struct DeviceRow {
  FoundDevice found;
  Result<DeviceProfile> profile;
};

// This machine comes first, with its figures where `rows` has them.
void PrintDevices(const Machine& machine, const std::vector<DeviceRow>& rows);
nlohmann::ordered_json DevicesToJson(const Machine& machine, const std::vector<DeviceRow>& rows);

// Every figure with its source.
void PrintDevice(const DeviceProfile& device);
nlohmann::ordered_json DeviceToJson(const DeviceProfile& device);

}  // namespace attend::cli
