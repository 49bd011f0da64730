// Any bytes as a safetensors file: reading it gives tensors that cover its data exactly, or one error.
#include <cstdlib>

#include "formats/model_header.h"
#include "formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = attend::SafetensorsFile::Parse({data, size}, "fuzz");
  if (!file) {
    if (attend::Describe(file.error()).empty()) std::abort();
    return 0;
  }
  uint64_t covered = file->data_offset();
  uint64_t sum = 0;
  for (const attend::TensorEntry& tensor : file->tensors()) {
    if (file->FindTensor(tensor.name) != &tensor) std::abort();
    covered += tensor.bytes;
    for (const uint8_t byte : file->Data(tensor)) sum += byte;
  }
  if (covered != size || sum > 255 * size) std::abort();
  attend::ModelHeader header;
  header.num_layers = header.hidden_size = header.intermediate_size = header.vocab_size = 1;
  header.num_q_heads = header.num_kv_heads = header.head_dim = header.v_head_dim = 1;
  (void)attend::CheckTensors(header, *file);
  return 0;
}
