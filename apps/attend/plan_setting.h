// What `plan` alone lets one choose: the device, whose memory rules, how many documents, questions and devices.
#pragma once

#include <optional>
#include <string>

#include "attend/command.h"
#include "attend/planned_model.h"
#include "formats/device_profile.h"
#include "plan/capacity.h"
#include "plan/plan.h"

namespace attend::cli {

// Empty strings and zeros mean: not fixed by the user.
struct SettingOptions {
  std::string device;   // --device; empty: this machine
  std::string policy;   // --policy
  std::string weights;  // --weights q4_0
  int64_t num_devices = 1;
  int64_t concurrent = 1;
  int64_t rounds = 1;
  double review_minutes = 0;
  Demand demand;
  int64_t ubatch_tokens = RuntimeSettings{}.ubatch_tokens;
  int64_t batched_tokens = RuntimeSettings{}.batched_tokens;
  bool no_flash_attention = false;
  bool keeps_maps = false;
};
void AddSettingOptions(CLI::App* command, SettingOptions& options);

// The device that was named; nothing: this machine. Errors: those of FindDevice.
Result<std::optional<DeviceProfile>> DeviceFor(const SettingOptions& options);

// As the user said, else ours where the model runs on the device and formula where it does not. Errors: usage_error for
// a policy that does not apply, with those that do.
Result<Policy> PolicyFor(const SettingOptions& options, const PlannedModel& model, const DeviceProfile* device);

// --kv by the names that the policy's runtime has. Errors: usage_error.
Result<KvFormat> KvFormatFor(const std::string& kv, Policy policy, const Engine& engine);

// Whether any option asks what CapacityOf answers.
bool AsksForCapacity(const SettingOptions& options);

// Puts the setting into a request; `memory_is_fixed`: --memory was given and stands before the device's.
void ApplySetting(const SettingOptions& options, const DeviceProfile* device, bool memory_is_fixed,
                  PlanRequest& request);

// --weights of a model without weights here. Errors: usage_error.
Result<void> ApplyWeights(const std::string& weights, PlannedModel& model);

// "a100-80gb, 80.0 GB" for tables; empty for this machine.
std::string DeviceText(const DeviceProfile* device);

}  // namespace attend::cli
