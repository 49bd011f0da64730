// Every number of a plan with its formula and the inputs that went into it.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace attend {

// `plan`: memory, work and times are filled in.
std::vector<Formula> ExplainPlan(const PlanRequest& request, const Plan& plan);

}  // namespace attend
