// Reads a GGUF header front to back; nothing is read that was not first compared with the bytes that remain.
#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "formats/format_error.h"

namespace attend {

static_assert(std::endian::native == std::endian::little, "GGUF values are read as they lie in the file");

class GgufCursor {
 public:
  // `name` must outlive the cursor.
  GgufCursor(std::span<const uint8_t> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }

  // `what` is read, for the message. Errors: gguf_truncated.
  template <typename T>
  Result<T> Read(std::string_view what) {
    if (remaining() < sizeof(T)) return Truncated(what, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  Result<void> Skip(uint64_t size, std::string_view what) {
    if (remaining() < size) return Truncated(what, size);
    position_ += size;
    return {};
  }

  // A length of 8 bytes and as many bytes of text. Errors: gguf_truncated, gguf_bad_string above `limit_bytes`.
  Result<std::string_view> ReadString(std::string_view what, uint64_t limit_bytes) {
    ATTEND_ASSIGN_OR_RETURN(const uint64_t size, Read<uint64_t>(what));
    if (size > limit_bytes) {
      return FormatError(ErrorCode::kGgufBadString, name_, std::string(what),
                         "at most " + std::to_string(limit_bytes) + " bytes", std::to_string(size),
                         position_ - sizeof(uint64_t));
    }
    if (remaining() < size) return Truncated(what, size);
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + position_, size);
    position_ += size;
    return text;
  }

 private:
  tl::unexpected<Error> Truncated(std::string_view what, uint64_t size) const {
    return FormatError(ErrorCode::kGgufTruncated, name_, std::string(what), std::to_string(size) + " more bytes",
                       std::to_string(remaining()) + " before the end of the file", position_,
                       "the file may be incomplete: copy or download it again");
  }

  std::span<const uint8_t> bytes_;
  const std::string& name_;
  uint64_t position_ = 0;
};

}  // namespace attend
