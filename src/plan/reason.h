// The decision in words, with the numbers it rests on.
#pragma once

#include <string>

#include "plan/plan.h"

namespace attend {

// `plan`: all but the reason is filled in.
std::string ReasonFor(const PlanRequest& request, const Plan& plan);

}  // namespace attend
