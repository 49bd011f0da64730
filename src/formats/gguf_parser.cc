#include "formats/gguf_parser.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/checked_math.h"
#include "formats/format_error.h"

namespace attend {
namespace {

constexpr uint64_t kMaxCount = 1 << 24;  // of keys and of tensors
constexpr uint64_t kMaxKeyBytes = 65535;
constexpr uint64_t kMaxStringBytes = 16 << 20;
constexpr uint64_t kMaxElementBytes = 64 << 10;  // a token's text
constexpr uint64_t kMaxAlignment = 65536;
constexpr uint64_t kLeastKeyBytes = 13;  // length, type and a value of one byte

}  // namespace

GgufParser::GgufParser(std::span<const uint8_t> bytes, std::string name, Wanted wanted)
    : cursor_(bytes, file_.name_), wanted_(wanted) {
  file_.bytes_ = bytes;
  file_.has_data_ = wanted == Wanted::kAll;
  file_.name_ = std::move(name);
}

Result<GgufFile> GgufParser::Run() {
  ATTEND_RETURN_IF_ERROR(ReadMagicAndVersion());
  ATTEND_ASSIGN_OR_RETURN(const uint64_t num_tensors, ReadCount("the number of tensors", kLeastTensorBytes));
  ATTEND_ASSIGN_OR_RETURN(const uint64_t num_keys, ReadCount("the number of keys", kLeastKeyBytes));
  ATTEND_RETURN_IF_ERROR(ReadEntries(num_keys));
  ATTEND_RETURN_IF_ERROR(ReadAlignment());
  ATTEND_RETURN_IF_ERROR(RefuseSplitSet());
  ATTEND_RETURN_IF_ERROR(ReadTensors(num_tensors));
  ATTEND_RETURN_IF_ERROR(PlaceData());
  return std::move(file_);
}

tl::unexpected<Error> GgufParser::Fail(ErrorCode code, std::string subject, std::string expected, std::string found,
                                       uint64_t at, std::string hint) const {
  return FormatError(code, file_.name_, std::move(subject), std::move(expected), std::move(found), at, std::move(hint));
}

Result<void> GgufParser::ReadMagicAndVersion() {
  ATTEND_ASSIGN_OR_RETURN(const uint32_t magic, cursor_.Read<uint32_t>("the magic"));
  if (magic != 0x46554747u) {
    const std::string_view found(reinterpret_cast<const char*>(file_.bytes_.data()), 4);
    return Fail(ErrorCode::kGgufBadMagic, "the magic", "'GGUF'", Quote(found), 0);
  }
  ATTEND_ASSIGN_OR_RETURN(file_.version_, cursor_.Read<uint32_t>("the version"));
  if (file_.version_ == 2 || file_.version_ == 3) return {};
  const bool swapped = (file_.version_ & 0xffffffu) == 0 && file_.version_ != 0;
  return Fail(
      ErrorCode::kGgufBadVersion, "the version", "2 or 3",
      swapped ? "a big-endian file of version " + std::to_string(file_.version_ >> 24) : std::to_string(file_.version_),
      4, swapped ? "big-endian files are not supported" : "");
}

Result<uint64_t> GgufParser::ReadCount(const char* what, uint64_t least_bytes) {
  ATTEND_ASSIGN_OR_RETURN(const uint64_t count, cursor_.Read<uint64_t>(what));
  const uint64_t limit = std::min(kMaxCount, cursor_.remaining() / least_bytes);
  if (count <= limit) return count;
  return Fail(ErrorCode::kGgufBadCount, what, "at most " + std::to_string(limit) + " in a file of this size",
              std::to_string(count), cursor_.position() - sizeof(uint64_t));
}

Result<void> GgufParser::ReadEntries(uint64_t count) {
  file_.entries_.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    ATTEND_ASSIGN_OR_RETURN(const GgufEntry entry, ReadEntry());
    file_.entries_.push_back(entry);
    ATTEND_RETURN_IF_ERROR(SkipValue(entry));
  }
  const auto twice = file_.entry_index_.Build(count, [&](size_t i) { return file_.entries_[i].key; });
  if (!twice) return {};
  const std::string_view key = file_.entries_[*twice].key;
  return Fail(ErrorCode::kGgufDuplicate, Subject("key", key), "each key once", "a second one", OffsetOf(key));
}

Result<GgufEntry> GgufParser::ReadEntry() {
  GgufEntry entry = {};
  ATTEND_ASSIGN_OR_RETURN(entry.key, cursor_.ReadString("a key", kMaxKeyBytes));
  if (const auto fault = FaultOfName(entry.key)) {
    return Fail(ErrorCode::kGgufBadString, "a key", "a name", *fault, OffsetOf(entry.key));
  }
  ATTEND_ASSIGN_OR_RETURN(entry.type, ReadType(entry.key));
  entry.element_type = entry.type;
  entry.count = 1;
  if (entry.type == GgufType::kArray) {
    ATTEND_ASSIGN_OR_RETURN(entry.element_type, ReadType(entry.key));
    if (entry.element_type == GgufType::kArray) {
      return Fail(ErrorCode::kGgufBadType, Subject("key", entry.key), "an array of plain values", "an array of arrays",
                  cursor_.position() - sizeof(uint32_t));
    }
    ATTEND_ASSIGN_OR_RETURN(entry.count, cursor_.Read<uint64_t>("an array's length"));
  }
  entry.offset = cursor_.position();
  return entry;
}

Result<GgufType> GgufParser::ReadType(std::string_view key) {
  ATTEND_ASSIGN_OR_RETURN(const uint32_t type, cursor_.Read<uint32_t>("a value's type"));
  if (type < kNumGgufTypes) return static_cast<GgufType>(type);
  return Fail(ErrorCode::kGgufBadType, Subject("key", key), "a value type below 13", std::to_string(type),
              cursor_.position() - sizeof(uint32_t));
}

Result<void> GgufParser::SkipValue(const GgufEntry& entry) {
  const bool is_string = entry.element_type == GgufType::kString;
  const uint64_t least_bytes = is_string ? sizeof(uint64_t) : BytesOf(entry.element_type);
  const auto bytes = CheckedMultiply(entry.count, least_bytes);
  if (!bytes || (entry.type == GgufType::kArray && *bytes > cursor_.remaining())) {
    return Fail(ErrorCode::kGgufBadCount, Subject("key", entry.key),
                "an array that fits into the " + std::to_string(cursor_.remaining()) + " bytes that remain",
                std::to_string(entry.count) + " values of " + std::string(NameOf(entry.element_type)), entry.offset);
  }
  const std::string_view what = entry.key;
  if (!is_string) return cursor_.Skip(*bytes, what);
  const uint64_t limit = entry.type == GgufType::kArray ? kMaxElementBytes : kMaxStringBytes;
  for (uint64_t i = 0; i < entry.count; ++i) ATTEND_RETURN_IF_ERROR(cursor_.ReadString(what, limit));
  return {};
}

Result<void> GgufParser::ReadAlignment() {
  constexpr std::string_view kKey = "general.alignment";
  const GgufEntry* entry = file_.FindEntry(kKey);
  if (entry == nullptr) return {};
  if (entry->type != GgufType::kUint32) {
    return Fail(ErrorCode::kGgufBadType, Subject("key", kKey), "uint32", std::string(NameOf(entry->type)),
                entry->offset);
  }
  ATTEND_ASSIGN_OR_RETURN(const uint64_t alignment, file_.Unsigned(kKey));
  if (!std::has_single_bit(alignment) || alignment > kMaxAlignment) {
    return Fail(ErrorCode::kGgufBadValue, Subject("key", kKey), "a power of two from 1 to 65536",
                std::to_string(alignment), entry->offset);
  }
  file_.alignment_ = static_cast<uint32_t>(alignment);
  return {};
}

Result<void> GgufParser::RefuseSplitSet() const {
  ATTEND_ASSIGN_OR_RETURN(const uint64_t count, file_.UnsignedOr("split.count", 1));
  if (count <= 1) return {};
  return Fail(ErrorCode::kUnsupportedFeature, "key 'split.count'", "a model in one file",
              "one of " + std::to_string(count) + " files", file_.FindEntry("split.count")->offset,
              "merge the files with llama-gguf-split --merge");
}

uint64_t GgufParser::OffsetOf(std::string_view text) const {
  return static_cast<uint64_t>(reinterpret_cast<const uint8_t*>(text.data()) - file_.bytes_.data());
}

Result<GgufFile> GgufFile::Parse(std::span<const uint8_t> bytes, std::string name) {
  return GgufParser(bytes, std::move(name), GgufParser::Wanted::kAll).Run();
}

Result<GgufFile> GgufFile::ParseHeader(std::span<const uint8_t> bytes, std::string name) {
  return GgufParser(bytes, std::move(name), GgufParser::Wanted::kHeader).Run();
}

}  // namespace attend
