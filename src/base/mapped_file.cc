#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace attend {
namespace {

tl::unexpected<Error> FileError(ErrorCode code, const std::string& path, std::string expected, std::string found) {
  return tl::unexpected(Error{.code = code,
                              .where = path,
                              .subject = {},
                              .expected = std::move(expected),
                              .found = std::move(found),
                              .hint = {}});
}

Result<struct stat> StatRegular(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    return FileError(missing ? ErrorCode::kFileNotFound : ErrorCode::kFileUnreadable, path, "a file",
                     std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) return FileError(ErrorCode::kFileIsDirectory, path, "a file", "a directory");
  if (!S_ISREG(status.st_mode)) {
    return FileError(ErrorCode::kFileNotRegular, path, "a regular file", "a pipe, socket or device");
  }
  if (status.st_size == 0) return FileError(ErrorCode::kFileEmpty, path, "content", "an empty file");
  return status;
}

Result<std::string> ReadAll(int descriptor, const std::string& name, size_t limit_bytes) {
  std::string text;
  char chunk[1 << 16];
  for (;;) {
    const ssize_t count = read(descriptor, chunk, sizeof chunk);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(ErrorCode::kFileUnreadable, name, "readable bytes", std::strerror(errno));
    if (count == 0) break;
    if (text.size() + static_cast<size_t>(count) > limit_bytes) {
      return FileError(ErrorCode::kFileUnreadable, name, "at most " + std::to_string(limit_bytes) + " bytes", "more");
    }
    text.append(chunk, static_cast<size_t>(count));
  }
  if (text.empty()) return FileError(ErrorCode::kFileEmpty, name, "content", "no bytes");
  return text;
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  ATTEND_ASSIGN_OR_RETURN(const struct stat status, StatRegular(path));
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return FileError(ErrorCode::kFileUnreadable, path, "a readable file", std::strerror(errno));
  const size_t size = static_cast<size_t>(status.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int map_error = errno;
  close(descriptor);
  if (data == MAP_FAILED)
    return FileError(ErrorCode::kFileUnreadable, path, "a file that can be mapped", std::strerror(map_error));
  MappedFile file;
  file.path_ = path;
  file.data_ = static_cast<const uint8_t*>(data);
  file.size_ = size;
  file.modified_ = status.st_mtim;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept {
  *this = std::move(other);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(modified_, other.modified_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<uint8_t*>(data_), size_);
}

Result<void> MappedFile::CheckUnchanged() const {
  const auto status = StatRegular(path_);  // an emptied or removed file has changed too
  const bool same = status && static_cast<size_t>(status->st_size) == size_ &&
                    status->st_mtim.tv_sec == modified_.tv_sec && status->st_mtim.tv_nsec == modified_.tv_nsec;
  if (!same) return FileError(ErrorCode::kFileChanged, path_, "the file as it was opened", "another size or time");
  return {};
}

void MappedFile::Release(size_t offset, size_t size) const {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t begin = offset / page * page;
  const size_t end = std::min(offset + size, size_);
  if (begin < end) madvise(const_cast<uint8_t*>(data_) + begin, end - begin, MADV_DONTNEED);
}

Result<std::string> ReadTextFile(const std::string& path, size_t limit_bytes) {
  if (path == "-") return ReadAll(STDIN_FILENO, "standard input", limit_bytes);
  ATTEND_RETURN_IF_ERROR(StatRegular(path));
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return FileError(ErrorCode::kFileUnreadable, path, "a readable file", std::strerror(errno));
  auto text = ReadAll(descriptor, path, limit_bytes);
  close(descriptor);
  return text;
}

}  // namespace attend
