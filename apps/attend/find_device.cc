#include "attend/find_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "attend/user_folders.h"
#include "base/mapped_file.h"

namespace attend::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFileLimitBytes = size_t{1} << 20;

bool SameName(const std::string& a, const std::string& b) {
  const EmbeddedFile file{a, {}};
  return FindEmbedded({&file, 1}, b) != nullptr;
}

bool Holds(const std::vector<FoundDevice>& devices, const std::string& name) {
  return std::any_of(devices.begin(), devices.end(), [&](const auto& device) { return SameName(device.name, name); });
}

std::vector<FoundDevice> UserDevices() {
  std::vector<FoundDevice> devices;
  const std::string folder = ConfigFolder();
  if (folder.empty()) return devices;
  std::error_code failed;
  for (fs::directory_iterator at(folder + "/devices", failed), end; !failed && at != end; at.increment(failed)) {
    const fs::path& path = at->path();
    if (path.extension() == ".json") devices.push_back({DeviceOrigin::kUser, path.stem().string(), path.string()});
  }
  std::sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return devices;
}

Result<DeviceProfile> ReadDeviceFile(const std::string& path) {
  ATTEND_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kFileLimitBytes));
  return ReadDeviceProfile(text, path == "-" ? "standard input" : path);
}

}  // namespace

std::string ThisMachinePath() {
  const std::string folder = CacheFolder();
  return folder.empty() ? folder : fmt::format("{}/devices/{}.json", folder, kThisMachine);
}

std::vector<FoundDevice> ListDevices() {
  std::vector<FoundDevice> devices;
  std::error_code failed;
  if (const std::string path = ThisMachinePath(); !path.empty() && fs::exists(path, failed)) {
    devices.push_back({DeviceOrigin::kHere, kThisMachine, path});
  }
  for (FoundDevice& device : UserDevices()) {
    if (!SameName(device.name, kThisMachine)) devices.push_back(std::move(device));
  }
  for (const DevicePreset& preset : DevicePresets()) {
    if (!Holds(devices, std::string(preset.name))) {
      devices.push_back({DeviceOrigin::kPreset, std::string(preset.name), {}});
    }
  }
  return devices;
}

Result<DeviceProfile> ReadDevice(const FoundDevice& device) {
  if (device.path.empty()) return ReadDeviceProfile(FindDevicePreset(device.name)->json, "device " + device.name);
  ATTEND_ASSIGN_OR_RETURN(DeviceProfile profile, ReadDeviceFile(device.path));
  profile.name = device.name;
  return profile;
}

Result<DeviceProfile> FindDevice(const std::string& name_or_file) {
  if (name_or_file == "-" || name_or_file.ends_with(".json")) return ReadDeviceFile(name_or_file);
  const std::vector<FoundDevice> devices = ListDevices();
  std::string names;
  for (const FoundDevice& device : devices) {
    if (SameName(device.name, name_or_file)) return ReadDevice(device);
    names += (names.empty() ? "" : ", ") + device.name;
  }
  return tl::unexpected(
      Error{.code = ErrorCode::kDeviceNotFound,
            .where = "device",
            .subject = name_or_file,
            .expected = "one of " + names + ", or a file that ends in .json",
            .found = "none of them",
            .hint = SameName(name_or_file, kThisMachine) ? "attend devices --measure" : "see attend devices"});
}

}  // namespace attend::cli
