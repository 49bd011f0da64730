#pragma once

namespace attend::cli {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace attend::cli
