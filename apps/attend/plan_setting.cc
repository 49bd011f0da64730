#include "attend/plan_setting.h"

#include <fmt/format.h>

#include "attend/find_device.h"
#include "attend/make_plan.h"

namespace attend::cli {
namespace {

std::vector<std::string> NamesOfPolicies() {
  std::vector<std::string> names;
  for (Policy policy : AllPolicies()) names.emplace_back(NameOf(policy));
  return names;
}

// What a parameter may be stored in; 0 bits: no such type.
double WeightBits(const std::string& name) {
  for (DType dtype : {DType::kF32, DType::kBf16, DType::kF16, DType::kFp8, DType::kQ8_0, DType::kQ5_1, DType::kQ5_0,
                      DType::kQ4_1, DType::kQ4_0}) {
    if (NameOf(dtype) == name) return 8.0 * InfoOf(dtype).block_bytes / InfoOf(dtype).block_values;
  }
  return 0;
}

}  // namespace

void AddSettingOptions(CLI::App* command, SettingOptions& o) {
  const CLI::Range count(int64_t{1}, int64_t{1} << 20);
  std::vector<std::string> names = NamesOfPolicies();
  names.emplace_back("all");
  const CLI::Validator amount = FiniteRange(0, 1e12);
  command->add_option("--device", o.device,
                      "Device to plan for: a name of attend devices or a profile's file (default: this machine)");
  command
      ->add_option(
          "--policy", o.policy,
          "Whose memory: ours, formula (weights and cache exactly), llama.cpp, vllm, hf-eager, hf-sdpa, or all "
          "side by side (default: ours where the model runs on the device, else formula)")
      ->check(CLI::IsMember(names));
  command->add_option("--weights", o.weights,
                      "Type of the weights of a model without weights here: bf16, fp8, q8_0, q4_0 ... (default: as "
                      "published, or bf16)");
  command->add_option("--num-devices", o.num_devices, "Devices that share the model, tensor parallel")->check(count);
  command->add_option("--concurrent", o.concurrent, "Documents at once")->check(count);
  command->add_option("--rounds", o.rounds, "Questions after one another over one prefill")->check(count);
  command->add_option("--rate", o.demand.documents_per_hour, "Documents that arrive in an hour")->check(amount);
  command->add_option("--price-per-hour", o.demand.price_per_hour, "Price of a device for an hour")->check(amount);
  command->add_option("--review-minutes", o.review_minutes, "Minutes of a person, for what pieces lose")->check(amount);
  command->add_option("--ubatch", o.ubatch_tokens, "llama.cpp: tokens of a micro-batch")
      ->check(count)
      ->capture_default_str();
  command->add_flag("--no-flash-attention", o.no_flash_attention, "llama.cpp: with a buffer for K*Q");
  command->add_option("--batched-tokens", o.batched_tokens, "vLLM: max_num_batched_tokens")
      ->check(count)
      ->capture_default_str();
  command->add_flag("--keep-maps", o.keeps_maps, "hf-eager: every attention map is kept");
}

Result<std::optional<DeviceProfile>> DeviceFor(const SettingOptions& options) {
  if (options.device.empty()) return std::optional<DeviceProfile>();
  ATTEND_ASSIGN_OR_RETURN(DeviceProfile device, FindDevice(options.device));
  return std::optional<DeviceProfile>(std::move(device));
}

Result<Policy> PolicyFor(const SettingOptions& options, const PlannedModel& model, const DeviceProfile* device) {
  const bool runs = model.front && (device == nullptr || device->is_cpu);
  if (options.policy.empty() || options.policy == "all") return runs ? Policy::kOurs : Policy::kFormula;
  const Policy policy = *FindPolicy(options.policy);
  if (policy != Policy::kOurs || runs) return policy;
  std::vector<std::string> others = NamesOfPolicies();
  others.erase(others.begin());
  return tl::unexpected(UsageError("--policy",
                                   fmt::format("{}: this {}", fmt::join(others, ", "),
                                               model.front ? "program runs on CPUs only" : "model does not run here"),
                                   "ours"));
}

Result<KvFormat> KvFormatFor(const std::string& kv, Policy policy, const Engine& engine) {
  if (kv.empty()) return policy == Policy::kOurs ? engine.kv_format : DefaultKvFormat(policy);
  const auto format = ParseKvFormat(policy, kv);
  if (!format) {
    return tl::unexpected(
        UsageError("--kv", fmt::format("{} for policy {}", KvFormatNames(policy), NameOf(policy)), kv));
  }
  return *format;
}

bool AsksForCapacity(const SettingOptions& o) {
  return o.concurrent > 1 || o.demand.documents_per_hour > 0 || o.demand.price_per_hour > 0;
}

void ApplySetting(const SettingOptions& o, const DeviceProfile* device, bool memory_is_fixed, PlanRequest& request) {
  RuntimeSettings& runtime = request.runtime;
  runtime.concurrent = o.concurrent;
  runtime.ubatch_tokens = o.ubatch_tokens;
  runtime.flash_attention = !o.no_flash_attention;
  runtime.batched_tokens = o.batched_tokens;
  runtime.keeps_maps = o.keeps_maps;
  if (runtime.quoted_questions > 0) runtime.quoted_questions = o.rounds;
  request.rounds = o.rounds;
  request.num_devices = o.num_devices;
  request.review_minutes = o.review_minutes;
  if (device == nullptr) return;
  if (!memory_is_fixed) request.memory_limit_bytes = device->memory_bytes;
  if (!request.calibration) request.calibration = SpeedsOf(*device, request.compute);
  request.link_bytes_per_s = device->link_bytes_per_s / 2;  // the profile states both directions together
}

Result<void> ApplyWeights(const std::string& weights, PlannedModel& model) {
  if (weights.empty()) return {};
  if (!model.shape) {
    return tl::unexpected(
        UsageError("--weights", "a model without weights: this one's are as its file stores them", weights));
  }
  const double bits = WeightBits(weights);
  if (bits == 0) {
    return tl::unexpected(UsageError("--weights", "f32, bf16, f16, fp8, q8_0, q5_1, q5_0, q4_1 or q4_0", weights));
  }
  model.shape->weight_bits = bits;
  return {};
}

std::string DeviceText(const DeviceProfile* device) {
  return device == nullptr ? "" : fmt::format("{}, {}", device->name, FormatBytes(device->memory_bytes));
}

}  // namespace attend::cli
