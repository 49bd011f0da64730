// safetensors files: a JSON header of named tensors over mapped bytes.
//
// Any byte string gives a SafetensorsFile or one error that names the byte, the tensor, what was expected and what was
// found. The header is at most 100 MB; the tensors cover the data without hole or overlap.
//
// Errors of Open and Parse: those of MappedFile::Open, safetensors_*, unsupported_tensor_type (float8 and other types
// attend does not know how to read), unsupported_feature (a sharded model: an index.json or its folder).
//
//   ATTEND_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open("model.safetensors"));
//   std::span<const uint8_t> rows = file.Data(*file.FindTensor("lm_head.weight"));
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"
#include "formats/name_index.h"
#include "formats/tensor_entry.h"

namespace attend {

class SafetensorsFile {
 public:
  static Result<SafetensorsFile> Open(const std::string& path);
  // The bytes are not copied and must outlive the object. `name` stands in messages.
  static Result<SafetensorsFile> Parse(std::span<const uint8_t> bytes, std::string name);

  const std::string& name() const { return name_; }
  std::span<const uint8_t> bytes() const { return bytes_; }
  uint64_t data_offset() const { return data_offset_; }
  // To release pages and to see whether the file changed; nullptr after Parse.
  const MappedFile* mapping() const { return mapping_ ? &*mapping_ : nullptr; }

  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  // Tensors, in the order of the header. Data may lie at any address: the format promises no alignment.
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  const TensorEntry* FindTensor(std::string_view name) const;
  // Precondition: the entry is one of tensors().
  std::span<const uint8_t> Data(const TensorEntry& tensor) const { return bytes_.subspan(tensor.offset, tensor.bytes); }

 private:
  SafetensorsFile() = default;

  std::optional<MappedFile> mapping_;
  std::span<const uint8_t> bytes_;
  std::string name_;
  uint64_t data_offset_ = 0;
  std::map<std::string, std::string> metadata_;
  std::vector<TensorEntry> tensors_;
  NameIndex tensor_index_;
};

}  // namespace attend
