// Picks the kernels of an instruction set at run time.
#pragma once

#include "base/machine.h"
#include "kernels/kernel_table.h"

namespace attend {

// Precondition: the processor has `isa` (Machine::isas lists it).
const KernelTable& KernelsFor(Isa isa);

}  // namespace attend
