// Devices by name: this machine once it was measured, the user's own profiles, those of data/devices.
//
//   this-machine   ${XDG_CACHE_HOME:-~/.cache}/attend/devices/this-machine.json, which attend devices --measure writes
//   own            ${XDG_CONFIG_HOME:-~/.config}/attend/devices/NAME.json
//
// Errors: device_not_found, and those of the file (device_bad, json_bad, file_not_found ...).
#pragma once

#include <string>
#include <vector>

#include "formats/device_profile.h"

namespace attend::cli {

inline constexpr const char* kThisMachine = "this-machine";

enum class DeviceOrigin { kHere, kUser, kPreset };

struct FoundDevice {
  DeviceOrigin origin;
  std::string name;
  std::string path;  // empty: of data/devices
};

// Where the figures of this machine are kept; empty when there is no place.
std::string ThisMachinePath();

// All that a name may stand for: this machine where it was measured, the user's by name, the presets that none of
// them hides.
std::vector<FoundDevice> ListDevices();
Result<DeviceProfile> ReadDevice(const FoundDevice& device);

// A name of ListDevices in any case, a path that ends in .json, or - for standard input.
Result<DeviceProfile> FindDevice(const std::string& name_or_file);

}  // namespace attend::cli
