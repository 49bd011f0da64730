#include "measure/disk.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "base/mapped_file.h"
#include "measure/timer.h"

namespace attend {
namespace {

constexpr size_t kPieceBytes = size_t{4} << 20;

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const { return value_; }

 private:
  int value_;
};

tl::unexpected<Error> Failed(ErrorCode code, const std::string& path) {
  return Refused(code, path, {}, code == ErrorCode::kFileUnwritable ? "a file that can be written" : "readable bytes",
                 std::strerror(errno));
}

Result<void> WriteRandomBytes(const std::string& path, uint64_t bytes) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.value() < 0) return Failed(ErrorCode::kFileUnwritable, path);
  std::mt19937_64 random;
  std::vector<uint64_t> piece(kPieceBytes / sizeof(uint64_t));
  for (uint64_t done = 0; done < bytes;) {
    std::generate(piece.begin(), piece.end(), std::ref(random));
    const ssize_t count = write(file.value(), piece.data(), std::min<uint64_t>(kPieceBytes, bytes - done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Failed(ErrorCode::kFileUnwritable, path);
    done += static_cast<uint64_t>(count);
  }
  return {};
}

}  // namespace

Result<std::optional<double>> MeasureDiskRead(const std::string& path, uint64_t most_bytes) {
  ATTEND_ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::Open(path));
  ATTEND_RETURN_IF_ERROR(DropFromMemory(path));
  const auto held = BytesInMemory(path);
  if (!held || static_cast<double>(*held) > 0.05 * static_cast<double>(mapped.bytes().size())) return std::nullopt;
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value() < 0) return Failed(ErrorCode::kFileUnreadable, path);
  posix_fadvise(file.value(), 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<char> piece(kPieceBytes);
  uint64_t done = 0;
  const Timer timer;
  while (done < most_bytes) {
    const ssize_t count = read(file.value(), piece.data(), std::min<uint64_t>(kPieceBytes, most_bytes - done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failed(ErrorCode::kFileUnreadable, path);
    if (count == 0) break;
    done += static_cast<uint64_t>(count);
  }
  return static_cast<double>(done) / timer.Seconds();
}

Result<std::optional<double>> MeasureDiskReadIn(const std::string& folder, uint64_t bytes) {
  const std::string path = folder + "/disk-" + std::to_string(getpid());
  const Result<void> written = WriteRandomBytes(path, bytes);
  Result<std::optional<double>> rate = std::nullopt;
  if (written) rate = MeasureDiskRead(path, bytes);
  unlink(path.c_str());
  if (!written) return tl::unexpected(written.error());
  return rate;
}

Result<void> DropFromMemory(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // Pages that are not on the disk yet cannot be dropped.
  if (file.value() < 0 || fdatasync(file.value()) != 0) return Failed(ErrorCode::kFileUnreadable, path);
  posix_fadvise(file.value(), 0, 0, POSIX_FADV_DONTNEED);
  return {};
}

Result<uint64_t> BytesInMemory(const std::string& path) {
  ATTEND_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  const size_t page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((file.bytes().size() + page_bytes - 1) / page_bytes);
  void* const begin = const_cast<uint8_t*>(file.bytes().data());
  if (mincore(begin, file.bytes().size(), pages.data()) != 0) return Failed(ErrorCode::kFileUnreadable, path);
  const auto held = std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; });
  return static_cast<uint64_t>(held) * page_bytes;
}

}  // namespace attend
