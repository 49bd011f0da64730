#include "kernels/dispatch.h"

namespace attend {

const KernelTable& KernelsFor(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::kScalar:
      return kScalarKernels;
    case Isa::kAvx2:
      return kAvx2Kernels;
    case Isa::kAvx512:
      return kAvx512Kernels;
    case Isa::kAvx512Vnni:
      return kAvx512VnniKernels;
    case Isa::kAvx512Bf16:
      return kAvx512Bf16Kernels;
  }
#endif
  static_cast<void>(isa);
  return kScalarKernels;
}

}  // namespace attend
