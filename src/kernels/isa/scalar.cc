#include "kernels/isa/vec_scalar.h"

#include "kernels/isa/table_body.h"

namespace attend {

extern const KernelTable kScalarKernels = MakeKernelTable<VecScalar>();

}  // namespace attend
