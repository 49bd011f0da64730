#include "kernels/isa/table_body.h"
#include "kernels/isa/vec_avx512.h"

namespace attend {

extern const KernelTable kAvx512Bf16Kernels = MakeKernelTable<VecAvx512Bf16>();

}  // namespace attend
