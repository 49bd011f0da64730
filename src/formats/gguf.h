// GGUF files, version 2 and 3, little-endian: typed metadata and a table of tensors over mapped bytes.
//
// Any byte string gives a GgufFile or one error that names the byte, the key or tensor, what was expected and what was
// found. Every count is compared with the bytes that remain before anything is allocated; time is n log n at worst.
// Limits: strings 16 MiB, strings in arrays 64 KiB, tensor names 63 bytes, 4 dimensions, alignment 1..65536.
//
// Errors of Open and Parse: those of MappedFile::Open, gguf_*, unsupported_tensor_type (a tensor of a type that attend
// cannot compute with), unsupported_feature (one file of a split set).
//
//   ATTEND_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open("model.gguf"));
//   ATTEND_ASSIGN_OR_RETURN(const uint64_t num_layers, file.Unsigned("llama.block_count"));
//   std::span<const uint8_t> rows = file.Data(*file.FindTensor("token_embd.weight"));
//
// OpenHeader and ParseHeader read the same, with the same checks, but need no data behind the table and take tensors of
// every type of ggml: for a plan, the first megabytes of a model are enough.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "formats/gguf_value.h"
#include "formats/name_index.h"
#include "formats/tensor_entry.h"

namespace attend {

class GgufFile {
 public:
  static Result<GgufFile> Open(const std::string& path);
  // The bytes are not copied and must outlive the object and its views. `name` stands in messages.
  static Result<GgufFile> Parse(std::span<const uint8_t> bytes, std::string name);
  static Result<GgufFile> OpenHeader(const std::string& path);
  static Result<GgufFile> ParseHeader(std::span<const uint8_t> bytes, std::string name);

  const std::string& name() const { return name_; }
  uint32_t version() const { return version_; }
  uint32_t alignment() const { return alignment_; }  // of each tensor's offset; may be as small as 1
  uint64_t data_offset() const { return data_offset_; }
  std::span<const uint8_t> bytes() const { return bytes_; }
  bool has_data() const { return has_data_; }  // false: read by OpenHeader or ParseHeader
  // To release pages and to see whether the file changed; nullptr after Parse.
  const MappedFile* mapping() const { return mapping_ ? &*mapping_ : nullptr; }

  // Metadata. Getters never convert between kinds: another type than asked for is gguf_bad_type, an absent key
  // gguf_missing. The ...Or forms give `fallback` for an absent key and still refuse a wrong type.
  std::span<const GgufEntry> entries() const { return entries_; }
  bool Has(std::string_view key) const { return FindEntry(key) != nullptr; }
  const GgufEntry* FindEntry(std::string_view key) const;

  Result<uint64_t> Unsigned(std::string_view key) const;  // any integer type that holds a value >= 0
  Result<double> Float(std::string_view key) const;       // float32 or float64, NaN and infinity included
  Result<bool> Bool(std::string_view key) const;
  Result<std::string_view> String(std::string_view key) const;  // valid UTF-8
  Result<uint64_t> UnsignedOr(std::string_view key, uint64_t fallback) const;
  Result<double> FloatOr(std::string_view key, double fallback) const;
  Result<bool> BoolOr(std::string_view key, bool fallback) const;
  Result<std::string_view> StringOr(std::string_view key, std::string_view fallback) const;

  Result<std::vector<std::string_view>> Strings(std::string_view key) const;  // any bytes
  Result<std::vector<int64_t>> Integers(std::string_view key) const;          // int32 or uint32 elements
  Result<std::vector<float>> Floats(std::string_view key) const;              // float32 elements
  Result<std::vector<bool>> Bools(std::string_view key) const;                // bool elements

  // Tensors, in the order of the file.
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  const TensorEntry* FindTensor(std::string_view name) const;
  // Preconditions: has_data(), and the entry is one of tensors().
  std::span<const uint8_t> Data(const TensorEntry& tensor) const {
    ATTEND_CHECK(has_data_);
    return bytes_.subspan(tensor.offset, tensor.bytes);
  }

 private:
  friend class GgufParser;
  GgufFile() = default;

  Result<const GgufEntry*> Need(std::string_view key, bool type_fits(const GgufEntry&), const char* expected) const;

  std::optional<MappedFile> mapping_;
  std::span<const uint8_t> bytes_;
  std::string name_;
  uint32_t version_ = 0;
  uint32_t alignment_ = 32;
  uint64_t data_offset_ = 0;
  bool has_data_ = true;
  std::vector<GgufEntry> entries_;
  std::vector<TensorEntry> tensors_;
  NameIndex entry_index_;
  NameIndex tensor_index_;
};

}  // namespace attend
