// Numbers as the texts of a plan print them.
#pragma once

#include <cstdint>
#include <string>

namespace attend {

std::string Grouped(int64_t value);         // 163840 -> "163,840"
std::string BytesText(uint64_t bytes);      // "412 MiB", "1.95 GiB"
std::string BothBytesText(uint64_t bytes);  // "19.5 GiB (20.97 GB)": what is often mixed up; below 1 GB as BytesText
std::string SecondsText(double seconds);    // "0.42 s", "24 s", "1 min 15 s", "3.4 h", "3 days"

}  // namespace attend
