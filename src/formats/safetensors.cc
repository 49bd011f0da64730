#include "formats/safetensors.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "formats/format_error.h"
#include "formats/safetensors_header.h"

namespace attend {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr uint64_t kLengthBytes = 8;

// A model in many files comes as a folder, or as the index that names them.
Result<void> RefuseSharded(const std::string& path) {
  std::error_code ignored;
  const bool is_index = path.ends_with(".index.json");
  if (!is_index && !std::filesystem::exists(path + "/model.safetensors.index.json", ignored)) return {};
  return FormatError(ErrorCode::kUnsupportedFeature, path, is_index ? "" : "model.safetensors.index.json",
                     "a model in one .safetensors file", "a model in several files", std::nullopt,
                     "save the model as one file");
}

Result<std::string_view> HeaderText(std::span<const uint8_t> bytes, const std::string& name) {
  if (bytes.size() < kLengthBytes) {
    return FormatError(ErrorCode::kSafetensorsTruncated, name, "the header's length", "8 bytes",
                       std::to_string(bytes.size()), 0);
  }
  uint64_t size = 0;
  std::memcpy(&size, bytes.data(), kLengthBytes);
  if (size > kMaxHeaderBytes) {
    return FormatError(ErrorCode::kSafetensorsBadHeader, name, "the header's length",
                       "at most " + std::to_string(kMaxHeaderBytes) + " bytes", std::to_string(size), 0);
  }
  if (size > bytes.size() - kLengthBytes) {
    return FormatError(ErrorCode::kSafetensorsTruncated, name, "the header", std::to_string(size) + " bytes",
                       std::to_string(bytes.size() - kLengthBytes) + " before the end of the file", kLengthBytes,
                       "the file may be incomplete: copy or download it again");
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, size);
  // The JSON library would skip a byte order mark or blanks.
  if (!text.starts_with('{')) {
    return FormatError(ErrorCode::kSafetensorsBadHeader, name, "the header", "'{'", Quote(text.substr(0, 1)),
                       kLengthBytes);
  }
  return text;
}

// Offsets count from the start of the data; every byte of it belongs to exactly one tensor.
Result<void> CheckCoverage(const std::vector<TensorEntry>& tensors, uint64_t data_bytes, uint64_t data_offset,
                           const std::string& name) {
  std::vector<const TensorEntry*> order;
  order.reserve(tensors.size());
  for (const TensorEntry& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const TensorEntry* a, const TensorEntry* b) {
    return std::tuple(a->offset, a->bytes, a) < std::tuple(b->offset, b->bytes, b);
  });
  uint64_t end = 0;
  for (const TensorEntry* tensor : order) {
    if (tensor->offset != end) {
      return FormatError(ErrorCode::kSafetensorsBadOffset, name, Subject("tensor", tensor->name),
                         "data that begins at byte " + std::to_string(end) + " of the data",
                         std::to_string(tensor->offset) + (tensor->offset < end ? ", an overlap" : ", a hole"),
                         data_offset + end);
    }
    end = tensor->offset + tensor->bytes;
    if (end > data_bytes) {
      return FormatError(ErrorCode::kSafetensorsTruncated, name, Subject("tensor", tensor->name),
                         "data up to byte " + std::to_string(end) + " of the data",
                         std::to_string(data_bytes) + " bytes of data", data_offset + data_bytes,
                         "the file may be incomplete: copy or download it again");
    }
  }
  if (end == data_bytes) return {};
  return FormatError(ErrorCode::kSafetensorsBadOffset, name, "the data", std::to_string(end) + " bytes",
                     std::to_string(data_bytes), data_offset + end);
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  ATTEND_RETURN_IF_ERROR(RefuseSharded(path));
  ATTEND_ASSIGN_OR_RETURN(MappedFile mapping, MappedFile::Open(path));
  ATTEND_ASSIGN_OR_RETURN(SafetensorsFile file, Parse(mapping.bytes(), path));
  file.mapping_ = std::move(mapping);
  return file;
}

Result<SafetensorsFile> SafetensorsFile::Parse(std::span<const uint8_t> bytes, std::string name) {
  ATTEND_ASSIGN_OR_RETURN(const std::string_view text, HeaderText(bytes, name));
  ATTEND_ASSIGN_OR_RETURN(SafetensorsHeader header, ParseSafetensorsHeader(text, name, kLengthBytes));
  SafetensorsFile file;
  file.bytes_ = bytes;
  file.name_ = std::move(name);
  file.data_offset_ = kLengthBytes + text.size();
  file.metadata_ = std::move(header.metadata);
  file.tensors_ = std::move(header.tensors);
  const auto twice =
      file.tensor_index_.Build(file.tensors_.size(), [&](size_t i) { return std::string_view(file.tensors_[i].name); });
  if (twice) {
    return FormatError(ErrorCode::kSafetensorsDuplicate, file.name_, Subject("tensor", file.tensors_[*twice].name),
                       "each name once", "a second one", kLengthBytes);
  }
  ATTEND_RETURN_IF_ERROR(CheckCoverage(file.tensors_, bytes.size() - file.data_offset_, file.data_offset_, file.name_));
  for (TensorEntry& tensor : file.tensors_) tensor.offset += file.data_offset_;
  return file;
}

const TensorEntry* SafetensorsFile::FindTensor(std::string_view name) const {
  const auto position = tensor_index_.Find(name, [&](size_t i) { return std::string_view(tensors_[i].name); });
  return position ? &tensors_[*position] : nullptr;
}

}  // namespace attend
