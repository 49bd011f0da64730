#include "kernels/isa/table_body.h"
#include "kernels/isa/vec_avx512.h"

namespace attend {

extern const KernelTable kAvx512VnniKernels = MakeKernelTable<VecAvx512Vnni>();

}  // namespace attend
