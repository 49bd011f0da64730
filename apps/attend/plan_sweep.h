// The lengths of a sweep, and the plans made of them.
#pragma once

#include <string>
#include <vector>

#include "attend/plan_command.h"

namespace attend::cli {

// "1000,8000,64000": these; "1000..128000": doubled from the first up to the last, which is the last one.
// Errors: usage_error.
Result<std::vector<int64_t>> ParseLengths(const std::string& text);

struct SweptPlan {
  int64_t tokens = 0;
  Plan plan;
};
// One plan a length, all else as asked.
Result<std::vector<SweptPlan>> Sweep(const PlanCommandOptions& options, const Planning& planning,
                                     const std::vector<int64_t>& lengths);

}  // namespace attend::cli
