// What one change would make it fit, or fit in one pass, each tried with the decision itself.
#pragma once

#include <vector>

#include "plan/decision.h"

namespace attend {

// Only changes that give a better verdict than `decision`; those that use the reserve come last, the others from the
// one that costs least of the result to the one that costs most.
std::vector<Change> FindChanges(const PlanRequest& request, const Decision& decision);

}  // namespace attend
