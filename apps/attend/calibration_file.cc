#include "attend/calibration_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "attend/replace_file.h"
#include "attend/user_folders.h"
#include "attend/version.h"
#include "base/mapped_file.h"
#include "formats/json.h"
#include "plan/spread.h"

namespace attend::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kFileLimitBytes = size_t{1} << 20;
constexpr size_t kMostEntries = 64;  // older ones are dropped: a few models on a few settings
constexpr size_t kMostRuns = 32;     // of an entry

constexpr std::pair<const char*, double Calibration::*> kRates[] = {
    {"linear_flops_per_s", &Calibration::linear_flops_per_s},
    {"attention_flops_per_s", &Calibration::attention_flops_per_s},
    {"weight_bytes_per_s", &Calibration::weight_bytes_per_s},
    {"kv_bytes_per_s", &Calibration::kv_bytes_per_s},
    {"element_s_per_token", &Calibration::element_s_per_token},
};

Json KeyJson(const CalibrationKey& key) {
  const ModelHeader& m = key.model;
  return {{"program", kVersion},
          {"cpu", key.cpu_name},
          {"isa", key.isa},
          {"threads", key.threads},
          {"compute", NameOf(key.compute)},
          {"kv_dtype", NameOf(key.kv_format)},
          {"model",
           fmt::format("{} layers, hidden {}, mlp {}, heads {}/{} of {}/{}, vocab {}", m.num_layers, m.hidden_size,
                       m.intermediate_size, m.num_q_heads, m.num_kv_heads, m.head_dim, m.v_head_dim, m.vocab_size)}};
}

// The file's entries; none when it is absent, damaged or of another version.
Json ReadEntries(const std::string& path) {
  const auto text = ReadTextFile(path, kFileLimitBytes);
  if (!text) return Json::array();
  const auto json = ParseJson(*text, path);
  if (!json || !json->is_object() || json->value("schema", nlohmann::json()) != "attend.calibration")
    return Json::array();
  const auto entries = json->find("entries");
  if (json->value("version", nlohmann::json()) != 1 || entries == json->end() || !entries->is_array())
    return Json::array();
  return *entries;
}

bool HasKey(const Json& entry, const Json& key) {
  if (!entry.is_object()) return false;
  for (const auto& [name, value] : key.items()) {
    if (!entry.contains(name) || entry.at(name) != value) return false;
  }
  return true;
}

constexpr std::pair<const char*, double VerifiedRun::*> kRatios[] = {
    {"memory_ratio", &VerifiedRun::memory_ratio},
    {"prefill_ratio", &VerifiedRun::prefill_ratio},
    {"decode_ratio", &VerifiedRun::decode_ratio},
    {"total_ratio", &VerifiedRun::total_ratio},
};

// Those that are whole; none where the field is not what this program writes.
std::vector<VerifiedRun> ReadRuns(const Json& entry) {
  std::vector<VerifiedRun> runs;
  const auto list = entry.find("runs");
  if (list == entry.end() || !list->is_array()) return runs;
  for (const Json& json : *list) {
    if (!json.is_object() || !json.contains("tokens") || !json.at("tokens").is_number_integer()) continue;
    VerifiedRun run{.tokens = json.at("tokens").get<int64_t>()};
    bool is_whole = true;
    for (const auto& [name, member] : kRatios) {
      is_whole = is_whole && json.contains(name) && json.at(name).is_number() && json.at(name).get<double>() > 0;
      if (is_whole) run.*member = json.at(name).get<double>();
    }
    if (is_whole) runs.push_back(run);
  }
  return runs;
}

std::optional<Calibration> ReadRates(const Json& entry, const CalibrationKey& key) {
  Calibration calibration{.cpu_name = key.cpu_name, .isa = key.isa, .threads = key.threads, .compute = key.compute};
  for (const auto& [name, member] : kRates) {
    if (!entry.contains(name) || !entry.at(name).is_number()) return std::nullopt;
    calibration.*member = entry.at(name).get<double>();
  }
  std::vector<double> ratios;
  for (const VerifiedRun& run : ReadRuns(entry)) ratios.push_back(run.total_ratio);
  calibration.spread = SpreadOf(ratios);
  return calibration;
}

Json RunsJson(const std::vector<VerifiedRun>& runs) {
  Json list = Json::array();
  for (const VerifiedRun& run : runs) {
    Json json = {{"tokens", run.tokens}};
    for (const auto& [name, member] : kRatios) json[name] = run.*member;
    list.push_back(json);
  }
  return list;
}

Result<void> WriteEntries(const std::string& path, const Json& entries) {
  return ReplaceFile(path, Json{{"schema", "attend.calibration"}, {"version", 1}, {"entries", entries}}.dump(2) + "\n");
}

}  // namespace

std::string CalibrationPath() {
  const std::string folder = CacheFolder();
  return folder.empty() ? folder : folder + "/calibration.json";
}

std::optional<Calibration> FindCalibration(const std::string& path, const CalibrationKey& key) {
  const Json wanted = KeyJson(key);
  for (const Json& entry : ReadEntries(path)) {
    if (HasKey(entry, wanted)) return ReadRates(entry, key);
  }
  return std::nullopt;
}

std::vector<VerifiedRun> FindVerifiedRuns(const std::string& path, const CalibrationKey& key) {
  const Json wanted = KeyJson(key);
  for (const Json& entry : ReadEntries(path)) {
    if (HasKey(entry, wanted)) return ReadRuns(entry);
  }
  return {};
}

Result<void> AddVerifiedRun(const std::string& path, const CalibrationKey& key, const VerifiedRun& run) {
  const Json wanted = KeyJson(key);
  Json entries = ReadEntries(path);
  for (Json& entry : entries) {
    if (!HasKey(entry, wanted)) continue;
    std::vector<VerifiedRun> runs = ReadRuns(entry);
    runs.push_back(run);
    if (runs.size() > kMostRuns) runs.erase(runs.begin());
    entry["runs"] = RunsJson(runs);
    return WriteEntries(path, entries);
  }
  return {};
}

Result<void> StoreCalibration(const std::string& path, const CalibrationKey& key, const Calibration& calibration) {
  Json entry = KeyJson(key);
  Json entries = Json::array();
  for (const Json& old : ReadEntries(path)) {
    if (!HasKey(old, entry) && entries.size() + 1 < kMostEntries) entries.push_back(old);
  }
  for (const auto& [name, member] : kRates) entry[name] = calibration.*member;
  entries.insert(entries.begin(), entry);
  return WriteEntries(path, entries);
}

}  // namespace attend::cli
