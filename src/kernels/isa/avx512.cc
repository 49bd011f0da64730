#include "kernels/isa/table_body.h"
#include "kernels/isa/vec_avx512.h"

namespace attend {

extern const KernelTable kAvx512Kernels = MakeKernelTable<VecAvx512>();

}  // namespace attend
