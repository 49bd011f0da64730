#include "base/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace attend {
namespace {

bool CpuHas(Isa isa) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  switch (isa) {
    case Isa::kScalar:
      return true;
    case Isa::kAvx2:
      return avx2;
    case Isa::kAvx512:
      return avx512;
    case Isa::kAvx512Vnni:
      return avx512 && __builtin_cpu_supports("avx512vnni");
    case Isa::kAvx512Bf16:
      return avx512 && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni");
  }
  return false;
#else
  return isa == Isa::kScalar;
#endif
}

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

uint64_t CacheBytes(int name) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

// /proc files hold lines "Key:   value kB".
uint64_t KibibytesOf(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    std::istringstream rest(line.substr(key.size() + 1));
    uint64_t kib = 0;
    rest >> kib;
    return kib * 1024;
  }
  return 0;
}

std::optional<uint64_t> CgroupLimit() {
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    uint64_t limit = 0;
    if (file >> limit) return limit;
  }
  return std::nullopt;
}

int CoresAllowed() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace

std::string_view NameOf(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Vnni:
      return "avx512_vnni";
    case Isa::kAvx512Bf16:
      return "avx512_bf16";
  }
  return "unknown";
}

Machine DetectMachine() {
  Machine machine;
  machine.cpu_name = CpuName();
  for (Isa isa : kAllIsas) {
    if (CpuHas(isa)) machine.isas.push_back(isa);
  }
  machine.isa = machine.isas.back();
  machine.num_cores = CoresAllowed();
  machine.l1d_bytes = CacheBytes(_SC_LEVEL1_DCACHE_SIZE);
  machine.l2_bytes = CacheBytes(_SC_LEVEL2_CACHE_SIZE);
  machine.l3_bytes = CacheBytes(_SC_LEVEL3_CACHE_SIZE);
  machine.memory_bytes = KibibytesOf("/proc/meminfo", "MemTotal");
  machine.available_memory_bytes = KibibytesOf("/proc/meminfo", "MemAvailable");
  if (const auto limit = CgroupLimit(); limit && *limit < machine.memory_bytes) {
    machine.memory_bytes = *limit;
    machine.available_memory_bytes = std::min(machine.available_memory_bytes, *limit);
  }
  return machine;
}

Result<Isa> ChooseIsa(const Machine& machine, std::string_view name) {
  std::string present;
  for (Isa isa : machine.isas) {
    if (NameOf(isa) == name) return isa;
    present += (present.empty() ? "" : ", ") + std::string(NameOf(isa));
  }
  return tl::unexpected(Error{.code = ErrorCode::kUnknownIsa,
                              .where = "--isa",
                              .subject = {},
                              .expected = "one of " + present,
                              .found = std::string(name),
                              .hint = "see attend info"});
}

uint64_t PeakResidentBytes() {
  return KibibytesOf("/proc/self/status", "VmHWM");
}

uint64_t ResidentBytes() {
  return KibibytesOf("/proc/self/status", "VmRSS");
}

bool ResetPeakResidentBytes() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

}  // namespace attend
