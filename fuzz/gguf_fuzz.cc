// Any bytes as a GGUF file: reading it, all of its metadata and its model's header gives values or one error; so does
// its header alone, whose shape has finite sums.
#include <cmath>
#include <cstdlib>

#include "formats/gguf.h"
#include "formats/gguf_shape.h"
#include "formats/gguf_weights.h"
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

template <class T>
bool IsSaid(const attend::Result<T>& result) {
  return result || !attend::Describe(result.error()).empty();
}

// More tokens never take less, and nothing is free that has keys.
bool Fits(const attend::ModelShape& s, const attend::GgufWeights& weights) {
  constexpr attend::KvFormat kFormat = {};
  for (const attend::LayerShape& layer : s.layers) {
    const bool has_keys =
        layer.cache.kind == attend::CacheKind::kFull || layer.cache.kind == attend::CacheKind::kWindow;
    if (has_keys && (layer.cache.ExactBytesPerToken() == 0 || layer.cache.KeptTokens(1) != 1)) return false;
  }
  return !s.layers.empty() && s.trained_tokens > 0 && s.vocab_size > 0 && std::isfinite(s.Parameters()) &&
         std::isfinite(s.LinearFlops(1000)) && std::isfinite(s.AttentionFlops(1000, 1 << 20)) &&
         s.KvBytes(kFormat, 10) <= s.KvBytes(kFormat, 1000) && weights.token_bytes <= weights.bytes;
}

// The header alone: what the strict reader takes, this one takes too.
void ReadHeader(std::span<const uint8_t> bytes, bool is_whole) {
  const auto file = attend::GgufFile::ParseHeader(bytes, "fuzz");
  if (!IsSaid(file) || (is_whole && !file && file.error().code != attend::ErrorCode::kGgufBadOffset)) std::abort();
  if (!file) return;
  const auto shape = attend::ShapeOfGguf(*file);
  if (!IsSaid(shape)) std::abort();
  if (!shape) return;
  const auto num_layers = static_cast<uint32_t>(shape->layers.size());
  const auto weights = attend::WeighTensors(*file, shape->architecture, num_layers);
  if (!weights || !Fits(*shape, *weights)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = attend::GgufFile::Parse({data, size}, "fuzz");
  if (file) ReadAll(*file);
  const auto header = file ? attend::ReadModelHeader(*file) : tl::unexpected(file.error());
  if (!IsSaid(header)) std::abort();
  ReadHeader({data, size}, file.has_value());
  return 0;
}
