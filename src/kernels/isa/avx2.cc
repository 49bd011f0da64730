#include "kernels/isa/vec_avx2.h"

#include "kernels/isa/table_body.h"

namespace attend {

extern const KernelTable kAvx2Kernels = MakeKernelTable<VecAvx2>();

}  // namespace attend
