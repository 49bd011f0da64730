// Builds one GgufFile from the bytes of a file: the steps of Run, each of which relies on those before it. The
// metadata's steps stand in gguf_parser.cc, the tensors' in gguf_tensors.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/gguf.h"
#include "formats/gguf_cursor.h"

namespace attend {

class GgufParser {
 public:
  // kAll: all data lies in the file, in types that are computed with here. kHeader: the table alone, of any types.
  enum class Wanted { kAll, kHeader };

  GgufParser(std::span<const uint8_t> bytes, std::string name, Wanted wanted);

  Result<GgufFile> Run();

 private:
  static constexpr uint64_t kLeastTensorBytes = 24;  // name's length, number of dimensions, type, offset

  Result<void> ReadMagicAndVersion();
  Result<uint64_t> ReadCount(const char* what, uint64_t least_bytes);
  Result<void> ReadEntries(uint64_t count);
  Result<GgufEntry> ReadEntry();
  Result<GgufType> ReadType(std::string_view key);
  Result<void> SkipValue(const GgufEntry& entry);
  Result<void> ReadAlignment();
  Result<void> RefuseSplitSet() const;

  Result<void> ReadTensors(uint64_t count);
  Result<void> ReadTensor();
  Result<void> ReadShape(TensorEntry& tensor);
  Result<GgufTensorType> ReadTensorType(std::string_view name);
  Result<void> SizeTensor(TensorEntry& tensor, const GgufTensorType& type) const;
  Result<void> PlaceData();
  Result<void> PlaceTensor(TensorEntry& tensor, uint64_t record_offset) const;

  tl::unexpected<Error> Fail(ErrorCode code, std::string subject, std::string expected, std::string found, uint64_t at,
                             std::string hint = {}) const;
  uint64_t OffsetOf(std::string_view text) const;  // of a view of the file's bytes

  GgufFile file_;
  GgufCursor cursor_;
  Wanted wanted_;
  std::vector<uint64_t> record_offset_of_;  // of each tensor's record, for messages
};

}  // namespace attend
