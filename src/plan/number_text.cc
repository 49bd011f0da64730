#include "plan/number_text.h"

#include <fmt/format.h>

namespace attend {

std::string Grouped(int64_t value) {
  std::string text = std::to_string(value);
  const size_t first_digit = value < 0 ? 1 : 0;
  for (size_t i = text.size(); i > first_digit + 3;) text.insert(i -= 3, ",");
  return text;
}

std::string BytesText(uint64_t bytes) {
  const double mib = static_cast<double>(bytes) / 0x1p20;
  if (mib < 10) return fmt::format("{:.2f} MiB", mib);
  if (mib < 1024) return fmt::format("{:.0f} MiB", mib);
  if (mib < 0x1p20) return fmt::format("{:.2f} GiB", mib / 0x1p10);
  return fmt::format("{:.1f} TiB", mib / 0x1p20);
}

std::string BothBytesText(uint64_t bytes) {
  const double gb = static_cast<double>(bytes) / 1e9;
  if (gb < 1) return BytesText(bytes);
  return gb < 1e4 ? fmt::format("{} ({:.2f} GB)", BytesText(bytes), gb)
                  : fmt::format("{} ({:.1f} TB)", BytesText(bytes), gb / 1e3);
}

std::string SecondsText(double seconds) {
  if (seconds < 10) return fmt::format("{:.2f} s", seconds);
  if (seconds < 59.5) return fmt::format("{:.0f} s", seconds);
  if (seconds < 3600) {
    const int whole = static_cast<int>(seconds + 0.5);
    return fmt::format("{} min {} s", whole / 60, whole % 60);
  }
  if (seconds < 48 * 3600) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.0f} days", seconds / 86400);
}

}  // namespace attend
