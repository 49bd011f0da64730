#include "formats/gguf.h"

#include <cstring>
#include <utility>

#include "base/utf8.h"
#include "formats/format_error.h"

namespace attend {
namespace {

template <typename T>
T Load(std::span<const uint8_t> bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// The string at `offset`, which is moved behind it. Parse has checked its length.
std::string_view LoadString(std::span<const uint8_t> bytes, uint64_t& offset) {
  const uint64_t size = Load<uint64_t>(bytes, offset);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + offset + sizeof(uint64_t), size);
  offset += sizeof(uint64_t) + size;
  return text;
}

// Sign-extended; uint64 values above 2^63 come out negative.
int64_t LoadInteger(std::span<const uint8_t> bytes, GgufType type, uint64_t offset) {
  switch (type) {
    case GgufType::kUint8:
      return Load<uint8_t>(bytes, offset);
    case GgufType::kInt8:
      return Load<int8_t>(bytes, offset);
    case GgufType::kUint16:
      return Load<uint16_t>(bytes, offset);
    case GgufType::kInt16:
      return Load<int16_t>(bytes, offset);
    case GgufType::kUint32:
      return Load<uint32_t>(bytes, offset);
    case GgufType::kInt32:
      return Load<int32_t>(bytes, offset);
    default:
      return Load<int64_t>(bytes, offset);
  }
}

std::string TypeText(const GgufEntry& entry) {
  if (entry.type != GgufType::kArray) return std::string(NameOf(entry.type));
  return "array of " + std::string(NameOf(entry.element_type));
}

bool IsArrayOf(const GgufEntry& entry, GgufType element_type) {
  return entry.type == GgufType::kArray && entry.element_type == element_type;
}

}  // namespace

Result<GgufFile> GgufFile::Open(const std::string& path) {
  ATTEND_ASSIGN_OR_RETURN(MappedFile mapping, MappedFile::Open(path));
  ATTEND_ASSIGN_OR_RETURN(GgufFile file, Parse(mapping.bytes(), path));
  file.mapping_ = std::move(mapping);
  return file;
}

Result<GgufFile> GgufFile::OpenHeader(const std::string& path) {
  ATTEND_ASSIGN_OR_RETURN(MappedFile mapping, MappedFile::Open(path));
  ATTEND_ASSIGN_OR_RETURN(GgufFile file, ParseHeader(mapping.bytes(), path));
  file.mapping_ = std::move(mapping);
  return file;
}

const GgufEntry* GgufFile::FindEntry(std::string_view key) const {
  const auto position = entry_index_.Find(key, [&](size_t i) { return entries_[i].key; });
  return position ? &entries_[*position] : nullptr;
}

const TensorEntry* GgufFile::FindTensor(std::string_view name) const {
  const auto position = tensor_index_.Find(name, [&](size_t i) { return std::string_view(tensors_[i].name); });
  return position ? &tensors_[*position] : nullptr;
}

Result<const GgufEntry*> GgufFile::Need(std::string_view key, bool type_fits(const GgufEntry&),
                                        const char* expected) const {
  const GgufEntry* entry = FindEntry(key);
  if (entry == nullptr)
    return FormatError(ErrorCode::kGgufMissing, name_, Subject("key", key), expected, "no such key");
  if (type_fits(*entry)) return entry;
  return FormatError(ErrorCode::kGgufBadType, name_, Subject("key", key), expected, TypeText(*entry), entry->offset);
}

Result<uint64_t> GgufFile::Unsigned(std::string_view key) const {
  const auto fits = [](const GgufEntry& entry) { return IsInteger(entry.type); };
  ATTEND_ASSIGN_OR_RETURN(const GgufEntry* entry, Need(key, fits, "an integer"));
  const int64_t value = LoadInteger(bytes_, entry->type, entry->offset);
  if (value < 0 && entry->type != GgufType::kUint64) {
    return FormatError(ErrorCode::kGgufBadValue, name_, Subject("key", key), "a value of 0 or more",
                       std::to_string(value), entry->offset);
  }
  return static_cast<uint64_t>(value);
}

Result<double> GgufFile::Float(std::string_view key) const {
  const auto fits = [](const GgufEntry& entry) {
    return entry.type == GgufType::kFloat32 || entry.type == GgufType::kFloat64;
  };
  ATTEND_ASSIGN_OR_RETURN(const GgufEntry* entry, Need(key, fits, "float32 or float64"));
  if (entry->type == GgufType::kFloat32) return Load<float>(bytes_, entry->offset);
  return Load<double>(bytes_, entry->offset);
}

Result<bool> GgufFile::Bool(std::string_view key) const {
  ATTEND_ASSIGN_OR_RETURN(const GgufEntry* entry,
                          Need(
                              key, [](const GgufEntry& e) { return e.type == GgufType::kBool; }, "bool"));
  const uint8_t value = bytes_[entry->offset];
  if (value <= 1) return value == 1;
  return FormatError(ErrorCode::kGgufBadValue, name_, Subject("key", key), "0 or 1", std::to_string(value),
                     entry->offset);
}

Result<std::string_view> GgufFile::String(std::string_view key) const {
  ATTEND_ASSIGN_OR_RETURN(const GgufEntry* entry,
                          Need(
                              key, [](const GgufEntry& e) { return e.type == GgufType::kString; }, "string"));
  uint64_t offset = entry->offset;
  const std::string_view text = LoadString(bytes_, offset);
  if (const auto invalid = FindInvalidUtf8(text)) {
    return FormatError(ErrorCode::kGgufBadString, name_, Subject("key", key), "UTF-8 text", "an invalid byte",
                       entry->offset + sizeof(uint64_t) + *invalid);
  }
  return text;
}

Result<uint64_t> GgufFile::UnsignedOr(std::string_view key, uint64_t fallback) const {
  return Has(key) ? Unsigned(key) : fallback;
}

Result<double> GgufFile::FloatOr(std::string_view key, double fallback) const {
  return Has(key) ? Float(key) : fallback;
}

Result<bool> GgufFile::BoolOr(std::string_view key, bool fallback) const {
  return Has(key) ? Bool(key) : fallback;
}

Result<std::string_view> GgufFile::StringOr(std::string_view key, std::string_view fallback) const {
  return Has(key) ? String(key) : fallback;
}

Result<std::vector<std::string_view>> GgufFile::Strings(std::string_view key) const {
  const auto fits = [](const GgufEntry& entry) { return IsArrayOf(entry, GgufType::kString); };
  ATTEND_ASSIGN_OR_RETURN(const GgufEntry* entry, Need(key, fits, "array of string"));
  std::vector<std::string_view> values(entry->count);
  uint64_t offset = entry->offset;
  for (std::string_view& value : values) value = LoadString(bytes_, offset);
  return values;
}

Result<std::vector<int64_t>> GgufFile::Integers(std::string_view key) const {
  const auto fits = [](const GgufEntry& entry) {
    return IsArrayOf(entry, GgufType::kInt32) || IsArrayOf(entry, GgufType::kUint32);
  };
  ATTEND_ASSIGN_OR_RETURN(const GgufEntry* entry, Need(key, fits, "array of int32 or uint32"));
  std::vector<int64_t> values(entry->count);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = LoadInteger(bytes_, entry->element_type, entry->offset + i * sizeof(int32_t));
  return values;
}

Result<std::vector<float>> GgufFile::Floats(std::string_view key) const {
  const auto fits = [](const GgufEntry& entry) { return IsArrayOf(entry, GgufType::kFloat32); };
  ATTEND_ASSIGN_OR_RETURN(const GgufEntry* entry, Need(key, fits, "array of float32"));
  std::vector<float> values(entry->count);
  if (!values.empty()) std::memcpy(values.data(), bytes_.data() + entry->offset, values.size() * sizeof(float));
  return values;
}

Result<std::vector<bool>> GgufFile::Bools(std::string_view key) const {
  const auto fits = [](const GgufEntry& entry) { return IsArrayOf(entry, GgufType::kBool); };
  ATTEND_ASSIGN_OR_RETURN(const GgufEntry* entry, Need(key, fits, "array of bool"));
  std::vector<bool> values(entry->count);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint8_t value = bytes_[entry->offset + i];
    if (value > 1) {
      return FormatError(ErrorCode::kGgufBadValue, name_, Subject("key", key), "0 or 1", std::to_string(value),
                         entry->offset + i);
    }
    values[i] = value == 1;
  }
  return values;
}

}  // namespace attend
