// attend devices: what a plan can be made for, and where each figure is from; --measure adds this machine.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "attend/command.h"
#include "attend/devices_output.h"
#include "attend/find_device.h"
#include "attend/measure_device.h"
#include "attend/replace_file.h"

namespace attend::cli {
namespace {

struct DevicesOptions {
  EngineOptions engine;
  OutputOptions output;
  bool measure = false;
  std::string shown;  // the device that show names
};

Outcome RunList(const DevicesOptions& options) {
  std::vector<DeviceRow> rows;
  for (FoundDevice& device : ListDevices()) {
    auto profile = ReadDevice(device);
    rows.push_back({std::move(device), std::move(profile)});
  }
  const Machine machine = DetectMachine();
  if (options.output.json) {
    fmt::print("{}\n", DevicesToJson(machine, rows).dump(2));
  } else {
    PrintDevices(machine, rows);
  }
  return 0;
}

Outcome Show(const DevicesOptions& options, const DeviceProfile& device) {
  if (!options.output.json) {
    PrintDevice(device);
    return 0;
  }
  const nlohmann::ordered_json json = {
      {"schema", "attend.devices"}, {"version", 1}, {"devices", {DeviceToJson(device)}}};
  fmt::print("{}\n", json.dump(2));
  return 0;
}

Outcome RunShow(const DevicesOptions& options) {
  ATTEND_ASSIGN_OR_RETURN(const DeviceProfile device, FindDevice(options.shown));
  return Show(options, device);
}

Outcome RunMeasure(const DevicesOptions& options) {
  const std::string path = ThisMachinePath();
  if (path.empty()) {
    return tl::unexpected(UsageError("--measure", "a place to keep the figures: HOME or XDG_CACHE_HOME", "neither"));
  }
  ATTEND_RETURN_IF_ERROR(MakeFolderOf(path));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  ATTEND_ASSIGN_OR_RETURN(const MeasuredDevice measured, MeasureDevice(options.engine, folder));
  ATTEND_ASSIGN_OR_RETURN(const DeviceProfile device, ReadDeviceProfile(measured.json, path));
  ATTEND_RETURN_IF_ERROR(ReplaceFile(path, measured.json));
  if (!options.output.quiet) {
    if (!measured.note.empty()) fmt::print(stderr, "{}\n", measured.note);
    fmt::print(stderr, "kept in {}\n", EscapeForTerminal(path));
  }
  return Show(options, device);
}

}  // namespace

void AddDevices(Registry& registry) {
  auto options = std::make_shared<DevicesOptions>();
  CLI::App* command = registry.Add("devices", "List the devices that a plan can be made for; measure this machine",
                                   "  attend devices\n  attend devices show h200\n  attend devices --measure");
  command->add_flag("--measure", options->measure,
                    "Measure this machine's memory, arithmetic and disk, and keep the figures");
  command
      ->add_option("-m,--model", options->engine.model,
                   "Model whose file the disk is measured with (default: the default model, or a temporary file)")
      ->envname("ATTEND_MODEL");
  command->add_option("-t,--threads", options->engine.threads, "Threads; 0 = all cores this process may use")
      ->envname("ATTEND_THREADS")
      ->check(CLI::Range(0, 1024));
  command->add_option("--isa", options->engine.isa, "Instruction set to measure (default: the best here)")
      ->envname("ATTEND_ISA");
  AddOutputOptions(command, options->output);
  CLI::App* list = command->add_subcommand("list", "List the devices: the default");
  list->add_flag("--json", options->output.json, "Print one JSON object");
  CLI::App* show = command->add_subcommand("show", "Show every figure of a device with its source");
  show->add_option("device", options->shown, "A name of the list, a file that ends in .json, or - for standard input")
      ->required();
  show->add_flag("--json", options->output.json, "Print one JSON object");
  registry.OnRun(command, [options, list, show]() -> Outcome {
    if (options->measure && (list->parsed() || show->parsed())) {
      return tl::unexpected(UsageError("--measure", "no list or show beside it", "one of them"));
    }
    if (options->measure) return RunMeasure(*options);
    return show->parsed() ? RunShow(*options) : RunList(*options);
  });
}

}  // namespace attend::cli
