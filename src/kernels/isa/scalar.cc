#include "kernels/isa/table_body.h"
#include "kernels/isa/vec_scalar.h"

namespace attend {

extern const KernelTable kScalarKernels = MakeKernelTable<VecScalar>();

}  // namespace attend
