#include "formats/figure.h"

#include <charconv>
#include <cmath>
#include <span>

namespace attend {
namespace {

struct Scale {
  std::string_view prefix;
  double factor;
};

constexpr Scale kByteScales[] = {{"", 1},     {"K", 1e3},     {"k", 1e3},     {"M", 1e6},     {"G", 1e9},
                                 {"T", 1e12}, {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}};
constexpr Scale kOperationScales[] = {{"", 1},    {"K", 1e3},  {"k", 1e3},  {"M", 1e6},
                                      {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"E", 1e18}};
constexpr Scale kOne[] = {{"", 1}};

struct UnitInfo {
  std::string_view spellings[3];  // after the prefix; empty: no more
  std::span<const Scale> scales;
  double factor;
  double min, max;
  std::string_view range;
  std::string_view example;
};

const UnitInfo& InfoOf(FigureUnit unit) {
  static constexpr UnitInfo kUnits[] = {
      {{"B"}, kByteScales, 1, 1, 0x1p50, "1 B to 1 PiB", "bytes such as '80 GB' or '64 GiB'"},
      {{"B/s"}, kByteScales, 1, 1, 1e18, "1 B/s to 1 EB/s", "bytes per second such as '2 TB/s'"},
      {{"FLOP/s", "FLOPS", "FLOPs"}, kOperationScales, 1, 1, 1e21, "1 to 1e21 FLOP/s", "a rate such as '312 TFLOP/s'"},
      {{"OP/s", "OPS", "OPs"}, kOperationScales, 1, 1, 1e21, "1 to 1e21 OP/s", "a rate such as '624 TOP/s'"},
      {{"%"}, kOne, 0.01, 1e-4, 1, "0.01 % to 100 %", "a share such as '60 %'"}};
  return kUnits[static_cast<size_t>(unit)];
}

std::optional<double> FactorOf(std::string_view text, const UnitInfo& info) {
  for (const std::string_view spelling : info.spellings) {
    if (spelling.empty() || !text.ends_with(spelling)) continue;
    const std::string_view prefix = text.substr(0, text.size() - spelling.size());
    for (const Scale& scale : info.scales) {
      if (scale.prefix == prefix) return scale.factor * info.factor;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> ParseFigure(std::string_view text, FigureUnit unit) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  const std::optional<double> factor = FactorOf(text, InfoOf(unit));
  if (!factor) return std::nullopt;
  return number * *factor;
}

std::string_view ExampleOf(FigureUnit unit) {
  return InfoOf(unit).example;
}

std::optional<std::string_view> RangeMissed(double value, FigureUnit unit) {
  const UnitInfo& info = InfoOf(unit);
  if (value >= info.min && value <= info.max) return std::nullopt;
  return info.range;
}

}  // namespace attend
