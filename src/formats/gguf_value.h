// The value and tensor types of GGUF, by their numbers in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace attend {

enum class GgufType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

inline constexpr uint32_t kNumGgufTypes = 13;

std::string_view NameOf(GgufType type);  // "uint32"
uint32_t BytesOf(GgufType type);         // of one value; 0 for strings and arrays
bool IsInteger(GgufType type);

// A key and where its value lies. The key is a view of the file's bytes.
struct GgufEntry {
  std::string_view key;
  GgufType type;
  GgufType element_type;  // of an array; the same as `type` otherwise
  uint64_t count;         // elements of an array, 1 otherwise
  uint64_t offset;        // of the value, of the first element in an array
};

struct GgufTensorType {
  std::string_view name;  // "q4_K"
  DType dtype;            // kForeign when attend cannot compute with it
  uint32_t block_values;
  uint32_t block_bytes;
};

// Nothing for a number that was never used or has been removed from the format.
std::optional<GgufTensorType> FindGgufTensorType(uint32_t id);

}  // namespace attend
