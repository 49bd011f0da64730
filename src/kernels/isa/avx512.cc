#include "kernels/isa/vec_avx512.h"

#include "kernels/isa/table_body.h"

namespace attend {

extern const KernelTable kAvx512Kernels = MakeKernelTable<VecAvx512>();

}  // namespace attend
