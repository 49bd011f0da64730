// A 64-byte aligned, zeroed block of plain values that reports a failed allocation instead of throwing.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

#include "base/error.h"

namespace attend {

// Zeroed pages or heap memory for `bytes`, 64-byte aligned; large blocks come straight from the kernel, so that
// untouched pages cost nothing and freed ones go back. Returns nullptr when there is none. 0 bytes give a valid
// pointer.
void* AllocateAligned(size_t bytes);
void FreeAligned(void* pointer, size_t bytes);

template <typename T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept { Swap(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~AlignedBuffer() {
    if (data_ != nullptr) FreeAligned(data_, size_ * sizeof(T));
  }

  // Errors: out_of_memory, naming `what` and the bytes.
  static Result<AlignedBuffer> Make(size_t size, const char* what) {
    size_t bytes = 0;
    AlignedBuffer buffer;
    if (!__builtin_mul_overflow(size, sizeof(T), &bytes)) buffer.data_ = static_cast<T*>(AllocateAligned(bytes));
    if (buffer.data_ == nullptr) {
      return tl::unexpected(Error{.code = ErrorCode::kOutOfMemory,
                                  .where = what,
                                  .subject = {},
                                  .expected = std::to_string(size) + " x " + std::to_string(sizeof(T)) + " bytes",
                                  .found = "no such memory",
                                  .hint = "use --memory or a shorter document"});
    }
    buffer.size_ = size;
    return buffer;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  size_t size_bytes() const { return size_ * sizeof(T); }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

 private:
  void Swap(AlignedBuffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace attend
