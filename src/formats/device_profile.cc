#include "formats/device_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/config_fields.h"
#include "formats/figure.h"
#include "formats/json.h"

namespace attend {
namespace {

using Keys = std::span<const std::string_view>;

constexpr std::string_view kTopKeys[] = {"name", "kind", "cores", "memory",    "bandwidth",
                                         "peak", "link", "disk",  "efficiency"};
constexpr std::string_view kFigureKeys[] = {"figure", "source"};
constexpr std::string_view kPeakKeys[] = {"bf16", "f16", "f32", "int8"};
constexpr std::string_view kEfficiencyKeys[] = {"linear", "attention", "read"};

constexpr uint32_t kMaxCores = 1 << 16;

// One file: what it says is checked key by key, and what it calls a figure is kept.
class Reader {
 public:
  explicit Reader(std::string where) { source_.bad_value = ErrorCode::kDeviceBad, source_.where = std::move(where); }

  Result<DeviceProfile> Read(const nlohmann::json& json) {
    if (!json.is_object()) return Bad("", "an object", fmt::format("a value of type {}", json.type_name()));
    ATTEND_RETURN_IF_ERROR(CheckKeys(json, "", kTopKeys));
    const ConfigFields fields(json, source_);
    ATTEND_ASSIGN_OR_RETURN(device_.name, fields.Text("name"));
    if (const auto fault = FaultOfName(device_.name)) return Bad("name", "a name", *fault);
    ATTEND_ASSIGN_OR_RETURN(const std::string kind, fields.Text("kind"));
    if (kind != "gpu" && kind != "cpu") return Bad("kind", "gpu or cpu", Quote(kind));
    device_.is_cpu = kind == "cpu";
    ATTEND_ASSIGN_OR_RETURN(device_.cores, fields.Number("cores", kMaxCores, 0));
    double memory = 0;
    ATTEND_RETURN_IF_ERROR(ReadFigure(json, "", "memory", FigureUnit::kBytes, memory));
    device_.memory_bytes = static_cast<uint64_t>(memory);
    ATTEND_RETURN_IF_ERROR(
        ReadFigure(json, "", "bandwidth", FigureUnit::kBytesPerSecond, device_.bandwidth_bytes_per_s));
    ATTEND_RETURN_IF_ERROR(ReadPeaks(json));
    ATTEND_RETURN_IF_ERROR(ReadOptional(json, "", "link", FigureUnit::kBytesPerSecond, device_.link_bytes_per_s));
    ATTEND_RETURN_IF_ERROR(ReadOptional(json, "", "disk", FigureUnit::kBytesPerSecond, device_.disk_bytes_per_s));
    ATTEND_RETURN_IF_ERROR(ReadEfficiency(json));
    return std::move(device_);
  }

 private:
  tl::unexpected<Error> Bad(const std::string& key, std::string expected, std::string found) const {
    return FormatError(source_.bad_value, source_.where, key.empty() ? "" : Subject("key", key), std::move(expected),
                       std::move(found));
  }

  // A misspelt key would leave its figure out in silence.
  Result<void> CheckKeys(const nlohmann::json& object, const std::string& outer, Keys known) const {
    for (const auto& [key, value] : object.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      return Bad(outer + key, fmt::format("one of {}", fmt::join(known, ", ")), "a key of another name");
    }
    return {};
  }

  // The object at `key`.
  Result<const nlohmann::json*> ReadObject(const nlohmann::json& in, const std::string& outer, const std::string& key,
                                           Keys known) const {
    const ConfigFields fields(in, source_, outer);
    const nlohmann::json* object = fields.Find(key);
    if (object == nullptr || !object->is_object()) return fields.Wrong(key, "an object", object);
    ATTEND_RETURN_IF_ERROR(CheckKeys(*object, outer + key + ".", known));
    return object;
  }

  Result<void> ReadFigure(const nlohmann::json& in, const std::string& outer, const std::string& key, FigureUnit unit,
                          double& value) {
    ATTEND_ASSIGN_OR_RETURN(const nlohmann::json* object, ReadObject(in, outer, key, kFigureKeys));
    DeviceFigure figure{.field = outer + key, .figure = {}, .source = {}};
    const ConfigFields fields(*object, source_, figure.field + ".");
    const nlohmann::json* written = fields.Find("figure");
    if (written == nullptr || !written->is_string())
      return fields.Wrong("figure", std::string(ExampleOf(unit)), written);
    figure.figure = written->get<std::string>();
    const std::optional<double> parsed = ParseFigure(figure.figure, unit);
    if (!parsed) return Bad(figure.field + ".figure", std::string(ExampleOf(unit)), Quote(figure.figure));
    if (const auto range = RangeMissed(*parsed, unit))
      return Bad(figure.field + ".figure", std::string(*range), Quote(figure.figure));
    ATTEND_ASSIGN_OR_RETURN(figure.source, fields.Text("source"));
    if (figure.source.empty()) return Bad(figure.field + ".source", "where the figure is from", "no text");
    figure.value = value = *parsed;
    device_.figures.push_back(std::move(figure));
    return {};
  }

  Result<void> ReadOptional(const nlohmann::json& in, const std::string& outer, const std::string& key, FigureUnit unit,
                            double& value) {
    if (ConfigFields(in, source_).Find(key) == nullptr) return {};
    return ReadFigure(in, outer, key, unit, value);
  }

  Result<void> ReadPeaks(const nlohmann::json& json) {
    static constexpr DType kTypes[] = {DType::kBf16, DType::kF16, DType::kF32, DType::kI8};
    ATTEND_ASSIGN_OR_RETURN(const nlohmann::json* peaks, ReadObject(json, "", "peak", kPeakKeys));
    for (size_t i = 0; i < std::size(kTypes); ++i) {
      double peak = 0;
      const FigureUnit unit = kTypes[i] == DType::kI8 ? FigureUnit::kOpsPerSecond : FigureUnit::kFlopsPerSecond;
      ATTEND_RETURN_IF_ERROR(ReadOptional(*peaks, "peak.", std::string(kPeakKeys[i]), unit, peak));
      if (peak > 0) device_.peaks.emplace_back(kTypes[i], peak);
    }
    if (device_.PeakFor(Compute::kBf16) == 0) return Bad("peak", "a peak of bf16, f16 or f32", "none of them");
    return {};
  }

  Result<void> ReadEfficiency(const nlohmann::json& json) {
    static const nlohmann::json kNone = nlohmann::json::object();
    const nlohmann::json* shares = &kNone;
    if (ConfigFields(json, source_).Find("efficiency") != nullptr) {
      ATTEND_ASSIGN_OR_RETURN(shares, ReadObject(json, "", "efficiency", kEfficiencyKeys));
    }
    double* const places[] = {&device_.linear_efficiency, &device_.attention_efficiency, &device_.read_efficiency};
    for (size_t i = 0; i < std::size(places); ++i) {
      const std::string key(kEfficiencyKeys[i]);
      const size_t stated = device_.figures.size();
      ATTEND_RETURN_IF_ERROR(ReadOptional(*shares, "efficiency.", key, FigureUnit::kShare, *places[i]));
      if (device_.figures.size() != stated) continue;
      device_.figures.push_back({"efficiency." + key, fmt::format("{:.0f} %", *places[i] * 100),
                                 "assumed: the profile states none", *places[i]});
    }
    return {};
  }

  HeaderSource source_;
  DeviceProfile device_;
};

}  // namespace

Result<DeviceProfile> ReadDeviceProfile(std::string_view json, std::string name) {
  ATTEND_ASSIGN_OR_RETURN(const nlohmann::json parsed, ParseJson(json, name));
  return Reader(std::move(name)).Read(parsed);
}

const DevicePreset* FindDevicePreset(std::string_view name) {
  return FindEmbedded(DevicePresets(), name);
}

const DeviceFigure* DeviceProfile::Find(std::string_view field) const {
  for (const DeviceFigure& figure : figures) {
    if (figure.field == field) return &figure;
  }
  return nullptr;
}

bool DeviceProfile::IsMeasured() const {
  const DeviceFigure* bandwidth = Find("bandwidth");
  return bandwidth != nullptr && bandwidth->source.starts_with("measured");
}

double DeviceProfile::PeakFor(Compute compute) const {
  const auto first_of = [&](std::initializer_list<DType> types) {
    for (const DType wanted : types) {
      for (const auto& [dtype, peak] : peaks) {
        if (dtype == wanted) return peak;
      }
    }
    return 0.0;
  };
  if (compute == Compute::kF32) return first_of({DType::kF32});
  if (compute == Compute::kBf16) return first_of({DType::kBf16, DType::kF16, DType::kF32});
  return first_of({DType::kI8, DType::kBf16, DType::kF16, DType::kF32});
}

Calibration SpeedsOf(const DeviceProfile& device, Compute compute) {
  const double linear_peak = device.PeakFor(RoundsToBf16(compute) ? Compute::kBf16 : Compute::kF32);
  const double read = device.bandwidth_bytes_per_s * device.read_efficiency;
  return {.cpu_name = device.name,
          .isa = {},
          .threads = 0,
          .compute = compute,
          .linear_flops_per_s = linear_peak * device.linear_efficiency,
          .attention_flops_per_s = device.PeakFor(compute) * device.attention_efficiency,
          .weight_bytes_per_s = read,
          .kv_bytes_per_s = read,
          .element_s_per_token = 0,
          .spread = device.IsMeasured() ? Spread{} : kStatedSpread};
}

}  // namespace attend
