#include "attend/header_footprint.h"

#include <utility>

#include "base/mapped_file.h"
#include "formats/gguf_shape.h"
#include "formats/gguf_weights.h"
#include "formats/kv_heads.h"

namespace attend::cli {

Result<ModelFootprint> FootprintOfGguf(const std::string& path) {
  ATTEND_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::OpenHeader(path));
  ATTEND_ASSIGN_OR_RETURN(ModelShape shape, ShapeOfGguf(file));
  const auto num_layers = static_cast<uint32_t>(shape.layers.size());
  ATTEND_ASSIGN_OR_RETURN(const GgufWeights weights, WeighTensors(file, shape.architecture, num_layers));
  if (SaturatedAdd(file.data_offset(), weights.bytes) > file.bytes().size()) {
    shape.doubts.push_back("the file ends before its weights do: it is planned as if it were whole");
  }
  return ModelFootprint{.shape = std::move(shape),
                        .activations = {},
                        .policy = Policy::kFormula,
                        .weights_bytes = weights.bytes,
                        .decode_weight_bytes = weights.token_bytes};
}

Result<ModelFootprint> FootprintOfFolder(const std::string& folder) {
  const std::string config = folder + "/config.json";
  ATTEND_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(config, kMostConfigBytes));
  ATTEND_ASSIGN_OR_RETURN(ModelShape shape, ReadModelShape(text, config));
  ATTEND_ASSIGN_OR_RETURN(const auto file, SafetensorsFile::Open(folder + "/model.safetensors"));
  if (auto fault = FindKvHeadsFault(shape, file.tensors(), TensorNaming::kHuggingFace, file.name())) {
    return tl::unexpected(std::move(fault->error));
  }
  uint64_t bytes = 0;
  for (const TensorEntry& tensor : file.tensors()) bytes = SaturatedAdd(bytes, tensor.bytes);
  shape.weight_bits = 8 * static_cast<double>(bytes) / shape.Parameters();
  ModelFootprint footprint = MakeFootprint(std::move(shape));
  footprint.weights_bytes = bytes;
  return footprint;
}

}  // namespace attend::cli
