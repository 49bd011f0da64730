#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace attend {
namespace {

// From this size on memory is mapped: zeroed lazily, returned to the system at once, and eligible for huge pages.
constexpr size_t kMapBytes = size_t{1} << 20;

size_t HeapBytes(size_t bytes) {
  return bytes == 0 ? 64 : (bytes + 63) / 64 * 64;
}

}  // namespace

void* AllocateAligned(size_t bytes) {
  if (bytes > SIZE_MAX - 4096) return nullptr;
  if (bytes < kMapBytes) {
    void* pointer = std::aligned_alloc(64, HeapBytes(bytes));
    if (pointer != nullptr) std::memset(pointer, 0, HeapBytes(bytes));
    return pointer;
  }
  void* pointer = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pointer != MAP_FAILED) madvise(pointer, bytes, MADV_HUGEPAGE);
  return pointer == MAP_FAILED ? nullptr : pointer;
}

void FreeAligned(void* pointer, size_t bytes) {
  if (bytes < kMapBytes) {
    std::free(pointer);
  } else {
    munmap(pointer, bytes);
  }
}

}  // namespace attend
