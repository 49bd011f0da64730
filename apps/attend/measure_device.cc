#include "attend/measure_device.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "attend/find_device.h"
#include "measure/disk.h"
#include "measure/peaks.h"

namespace attend::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kLeastModelBytes = uint64_t{64} << 20;  // a smaller file says more of the start than of the stream

Json Figure(std::string figure, std::string source) {
  return {{"figure", std::move(figure)}, {"source", std::move(source)}};
}

// "176.3 GFLOP/s".
std::string Rate(double value, const char* unit) {
  if (value < 1e9) return fmt::format("{:.1f} M{}", value / 1e6, unit);
  return fmt::format("{:.1f} G{}", value / 1e9, unit);
}

struct DiskRate {
  std::optional<double> bytes_per_s;
  std::string file;
};

// `folder` exists.
Result<DiskRate> MeasureDisk(const EngineOptions& options, const std::string& folder) {
  const auto model = FindModel(options);
  if (!model && !options.model.empty()) return tl::unexpected(model.error());
  std::error_code failed;
  if (model && std::filesystem::file_size(*model, failed) >= kLeastModelBytes && !failed) {
    ATTEND_ASSIGN_OR_RETURN(const std::optional<double> rate, MeasureDiskRead(*model));
    const std::string name = std::filesystem::path(*model).filename().string();
    if (rate) return DiskRate{rate, EscapeForTerminal(name)};
  }
  ATTEND_ASSIGN_OR_RETURN(const std::optional<double> rate, MeasureDiskReadIn(folder));
  return DiskRate{rate, "a temporary file of 256 MiB"};
}

}  // namespace

Result<MeasuredDevice> MeasureDevice(const EngineOptions& options, const std::string& folder) {
  ATTEND_ASSIGN_OR_RETURN(const Engine engine, MakeEngine(options));
  ATTEND_ASSIGN_OR_RETURN(const Peaks peaks, MeasurePeaks(*engine.kernels, *engine.pool));
  ATTEND_ASSIGN_OR_RETURN(const DiskRate disk, MeasureDisk(options, folder));

  const std::string by =
      fmt::format("measured {:%Y-%m-%d} by attend devices --measure", fmt::gmtime(std::time(nullptr)));
  const std::string with = fmt::format("{}: {}, {} threads", by, NameOf(engine.machine.isa), peaks.threads);
  Json json = {{"name", kThisMachine}, {"kind", "cpu"}, {"cores", engine.machine.num_cores}};
  json["memory"] = Figure(fmt::format("{} MiB", engine.machine.memory_bytes >> 20), "what the system reports");
  json["bandwidth"] = Figure(Rate(peaks.read_bytes_per_s, "B/s"), with + ", reading 512 MiB");
  json["peak"]["bf16"] = Figure(Rate(peaks.FlopsPerSecond(Compute::kBf16), "FLOP/s"), with);
  json["peak"]["f32"] = Figure(Rate(peaks.FlopsPerSecond(Compute::kF32), "FLOP/s"), with);
  if (disk.bytes_per_s) {
    json["disk"] = Figure(Rate(*disk.bytes_per_s, "B/s"), fmt::format("{}: reading {}", by, disk.file));
  }
  return MeasuredDevice{json.dump(2) + "\n",
                        disk.bytes_per_s ? "" : "disk not measured: the system keeps its files in memory"};
}

}  // namespace attend::cli
