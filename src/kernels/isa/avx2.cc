#include "kernels/isa/table_body.h"
#include "kernels/isa/vec_avx2.h"

namespace attend {

extern const KernelTable kAvx2Kernels = MakeKernelTable<VecAvx2>();

}  // namespace attend
