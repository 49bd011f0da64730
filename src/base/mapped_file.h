// A regular file mapped read-only. Directories, pipes, devices and empty files are refused by name.
// The mapping is private: a file that shrinks while mapped makes its lost pages unreadable, so readers that keep a
// mapping call CheckUnchanged() before they use it again.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"

namespace attend {

class MappedFile {
 public:
  // Errors: file_not_found, file_is_directory, file_not_regular, file_empty, file_unreadable.
  static Result<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::span<const uint8_t> bytes() const { return {data_, size_}; }

  // Errors: file_changed when size or modification time are no longer those of the mapping.
  Result<void> CheckUnchanged() const;

  // Tells the kernel that the pages of [offset, offset + size) will not be needed again soon.
  void Release(size_t offset, size_t size) const;

 private:
  MappedFile() = default;

  std::string path_;
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  timespec modified_ = {};
};

// The whole of a regular file as a string; `-` reads standard input. At most `limit_bytes`.
Result<std::string> ReadTextFile(const std::string& path, size_t limit_bytes);

}  // namespace attend
