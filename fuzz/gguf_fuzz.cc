// Any bytes as a GGUF file: reading it, all of its metadata and its model's header gives values or one error.
#include <cstdlib>

#include "formats/gguf.h"
#include "formats/model_header.h"

namespace {

void ReadAll(const attend::GgufFile& file) {
  for (const attend::GgufEntry& entry : file.entries()) {
    if (!file.Has(entry.key)) std::abort();
    (void)file.Unsigned(entry.key);
    (void)file.Float(entry.key);
    (void)file.Bool(entry.key);
    (void)file.String(entry.key);
    (void)file.Strings(entry.key);
    (void)file.Integers(entry.key);
    (void)file.Floats(entry.key);
  }
  uint64_t sum = 0;
  for (const attend::TensorEntry& tensor : file.tensors()) {
    if (file.FindTensor(tensor.name) != &tensor) std::abort();
    for (const uint8_t byte : file.Data(tensor)) sum += byte;
  }
  if (sum > 255 * file.bytes().size()) std::abort();  // tensors do not overlap
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = attend::GgufFile::Parse({data, size}, "fuzz");
  if (file) ReadAll(*file);
  const auto header = file ? attend::ReadModelHeader(*file) : tl::unexpected(file.error());
  if (!header && attend::Describe(header.error()).empty()) std::abort();
  return 0;
}
