// The JSON header of a safetensors file, read in one pass without a tree.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/tensor_entry.h"

namespace attend {

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  // offset counts from the start of the data; bytes and shape agree
  std::map<std::string, std::string> metadata;
};

// `offset_in_file` of the text is for messages only. Tensors named twice are left to the caller.
Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view text, const std::string& name,
                                                 uint64_t offset_in_file);

}  // namespace attend
