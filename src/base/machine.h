// What this machine is: instruction sets, caches, cores, memory. Read once by the application and passed on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace attend {

// In rising order of preference.
enum class Isa { kScalar, kAvx2, kAvx512, kAvx512Vnni, kAvx512Bf16 };

inline constexpr Isa kAllIsas[] = {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni, Isa::kAvx512Bf16};

std::string_view NameOf(Isa isa);  // "scalar", "avx2", "avx512", "avx512_vnni", "avx512_bf16"

struct Machine {
  std::string cpu_name;
  std::vector<Isa> isas;   // all that this processor and system can run, rising; never empty
  Isa isa = Isa::kScalar;  // the one in use: the best, or the one asked for
  int num_cores = 1;       // that this process may run on
  uint64_t l1d_bytes = 0;
  uint64_t l2_bytes = 0;
  uint64_t l3_bytes = 0;
  uint64_t memory_bytes = 0;            // in all, or the cgroup's limit where that is lower
  uint64_t available_memory_bytes = 0;  // now, without swapping
};

Machine DetectMachine();

// Errors: unknown_isa when the name is not known or the processor lacks it; the message lists what it has.
Result<Isa> ChooseIsa(const Machine& machine, std::string_view name);

// Largest resident set of this process so far, in bytes.
uint64_t PeakResidentBytes();
uint64_t ResidentBytes();
// Starts the count of PeakResidentBytes anew from what is resident now; false where the system cannot do that.
bool ResetPeakResidentBytes();

}  // namespace attend
