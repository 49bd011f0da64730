#include "attend/devices_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attend/command.h"

namespace attend::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Cells {
  std::string name, memory, bandwidth, peak, basis;
};

std::string Written(const DeviceProfile& device, const char* field) {
  const DeviceFigure* figure = device.Find(field);
  return figure == nullptr ? "" : EscapeForTerminal(figure->figure);
}

// Of bf16, or of what stands in for it.
std::string PeakCell(const DeviceProfile& device) {
  for (const char* type : {"bf16", "f16", "f32"}) {
    const std::string figure = Written(device, fmt::format("peak.{}", type).c_str());
    if (!figure.empty()) return std::string_view(type) == "bf16" ? figure : fmt::format("{} ({})", figure, type);
  }
  return "-";
}

const char* Basis(const DeviceProfile& device) {
  return device.IsMeasured() ? "measured" : "stated";
}

Cells CellsOf(const DeviceRow& row) {
  const std::string name = EscapeForTerminal(row.found.name);
  if (!row.profile) return {name, "-", "-", "-", Describe(row.profile.error())};
  const DeviceProfile& device = *row.profile;
  return {name, Written(device, "memory"), Written(device, "bandwidth"), PeakCell(device), Basis(device)};
}

bool IsHere(const DeviceRow& row) {
  return row.found.origin == DeviceOrigin::kHere;
}

const char* NameOf(DeviceOrigin origin) {
  switch (origin) {
    case DeviceOrigin::kHere:
      return "this machine";
    case DeviceOrigin::kUser:
      return "user";
    case DeviceOrigin::kPreset:
      return "preset";
  }
  return "";
}

Json ToJson(const DeviceRow& row) {
  Json json = {{"name", EscapeForTerminal(row.found.name)}};
  if (row.profile) {
    json = DeviceToJson(*row.profile);
  } else {
    json["code"] = InfoOf(row.profile.error().code).name;
    json["reason"] = Describe(row.profile.error());
  }
  json["origin"] = NameOf(row.found.origin);
  return json;
}

}  // namespace

void PrintDevices(const Machine& machine, const std::vector<DeviceRow>& rows) {
  std::vector<Cells> table = {{"name", "memory", "bandwidth", "bf16 peak", "figures"},
                              {"this machine", "", "-", "-", "not measured: attend devices --measure"}};
  for (const DeviceRow& row : rows) {
    if (!IsHere(row)) {
      table.push_back(CellsOf(row));
      continue;
    }
    table[1] = CellsOf(row);
    table[1].name = "this machine";
  }
  table[1].memory =
      fmt::format("{} of {} free", FormatBytes(machine.available_memory_bytes), FormatBytes(machine.memory_bytes));
  const auto width = [&](std::string Cells::*cell) {
    size_t widest = 0;
    for (const Cells& cells : table) widest = std::max(widest, (cells.*cell).size());
    return widest;
  };
  const size_t name = width(&Cells::name), memory = width(&Cells::memory), bandwidth = width(&Cells::bandwidth),
               peak = width(&Cells::peak);
  for (const Cells& cells : table) {
    const std::string line = fmt::format("{:{}}  {:>{}}  {:>{}}  {:>{}}  {}", cells.name, name, cells.memory, memory,
                                         cells.bandwidth, bandwidth, cells.peak, peak, cells.basis);
    fmt::print("{}\n", &cells == &table.front() ? Bold(line) : line);
  }
}

Json DevicesToJson(const Machine& machine, const std::vector<DeviceRow>& rows) {
  Json here = {{"name", kThisMachine}, {"kind", "cpu"}, {"cores", machine.num_cores}, {"basis", "none"}};
  Json devices = Json::array();
  for (const DeviceRow& row : rows) {
    if (IsHere(row)) {
      here = ToJson(row);
    } else {
      devices.push_back(ToJson(row));
    }
  }
  here["origin"] = NameOf(DeviceOrigin::kHere);
  here["memory_bytes"] = machine.memory_bytes;
  here["available_memory_bytes"] = machine.available_memory_bytes;
  devices.insert(devices.begin(), std::move(here));
  return {{"schema", "attend.devices"}, {"version", 1}, {"devices", std::move(devices)}};
}

void PrintDevice(const DeviceProfile& device) {
  const std::string cores = device.cores > 0 ? fmt::format(", {} cores", device.cores) : "";
  fmt::print("{}\n", Bold(fmt::format("{}: {}{}, {}", EscapeForTerminal(device.name), device.is_cpu ? "cpu" : "gpu",
                                      cores, Basis(device))));
  size_t width = 0;
  for (const DeviceFigure& figure : device.figures) width = std::max(width, EscapeForTerminal(figure.figure).size());
  for (const DeviceFigure& figure : device.figures) {
    fmt::print("{:<20}  {:>{}}  {}\n", figure.field, EscapeForTerminal(figure.figure), width,
               EscapeForTerminal(figure.source));
  }
}

Json DeviceToJson(const DeviceProfile& device) {
  Json peaks = Json::object();
  for (const auto& [dtype, value] : device.peaks) peaks[dtype == DType::kI8 ? "int8" : attend::NameOf(dtype)] = value;
  Json figures = Json::array();
  for (const DeviceFigure& figure : device.figures) {
    figures.push_back({{"field", figure.field},
                       {"figure", EscapeForTerminal(figure.figure)},
                       {"value", figure.value},
                       {"source", EscapeForTerminal(figure.source)}});
  }
  return {{"name", EscapeForTerminal(device.name)},
          {"kind", device.is_cpu ? "cpu" : "gpu"},
          {"cores", device.cores},
          {"basis", Basis(device)},
          {"memory_bytes", device.memory_bytes},
          {"bandwidth_bytes_per_s", device.bandwidth_bytes_per_s},
          {"peak_flops_per_s", std::move(peaks)},
          {"figures", std::move(figures)}};
}

}  // namespace attend::cli
