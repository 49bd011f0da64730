#include "formats/gguf_kv_heads.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/format_error.h"

namespace attend {
namespace {

struct Projection {
  const char* name;
  uint64_t fixed_rows;     // of Q, where it is in the same matrix
  uint64_t rows_per_head;  // of a KV head
};

struct RowsFault {
  const TensorEntry* tensor;
  uint64_t expected_rows;
  uint64_t num_kv_heads;  // that the tensor has
};

std::optional<RowsFault> FaultOf(const GgufFile& file, size_t layer, const LayerShape& shape) {
  constexpr uint64_t kMostHeads = 1 << 20;  // sums of bytes stay below 2^64
  const CacheDescriptor& cache = shape.cache;
  const uint64_t k = cache.k_head_dim, v = cache.v_head_dim;
  for (const auto& [name, fixed_rows, rows_per_head] :
       {Projection{"attn_k.weight", 0, k}, Projection{"attn_v.weight", 0, v},
        Projection{"attn_qkv.weight", shape.num_q_heads * k, k + v}}) {
    const TensorEntry* tensor = file.FindTensor(fmt::format("blk.{}.{}", layer, name));
    if (tensor == nullptr || tensor->shape.size() != 2) continue;
    const uint64_t rows = tensor->shape[0], expected = fixed_rows + cache.num_kv_heads * rows_per_head;
    if (rows == expected) continue;
    const uint64_t kv_rows = rows - std::min(rows, fixed_rows);
    return RowsFault{tensor, expected, std::min(kMostHeads, kv_rows / rows_per_head)};
  }
  return std::nullopt;
}

std::string Cost(const ModelShape& shape, uint64_t rows, uint64_t num_kv_heads) {
  return fmt::format("{} rows: {} KV heads, a cache of {} B a token in f16", rows, num_kv_heads,
                     shape.KvBytesPerToken(KvFormat::Both(DType::kF16)));
}

}  // namespace

std::optional<KvHeadsFault> FindKvHeadsFault(const GgufFile& file, const ModelShape& shape) {
  ModelShape by_tensor = shape;
  std::optional<RowsFault> first;
  uint64_t first_heads = 0;
  for (size_t i = 0; i < shape.layers.size(); ++i) {
    const CacheDescriptor& cache = shape.layers[i].cache;
    if (cache.kind == CacheKind::kNone || cache.num_kv_heads == 0 || cache.v_in_k) continue;
    const auto fault = FaultOf(file, i, shape.layers[i]);
    if (!fault) continue;
    if (!first) {
      first = fault;
      first_heads = cache.num_kv_heads;
    }
    by_tensor.layers[i].cache.num_kv_heads = static_cast<uint32_t>(fault->num_kv_heads);
  }
  if (!first) return std::nullopt;
  Error error = FormatError(ErrorCode::kGgufBadShape, file.name(), Subject("tensor", first->tensor->name),
                            Cost(shape, first->expected_rows, first_heads) + ", as head_count_kv says",
                            Cost(by_tensor, first->tensor->shape[0], first->num_kv_heads), first->tensor->offset)
                    .value();
  return KvHeadsFault{std::move(error), std::move(by_tensor)};
}

}  // namespace attend
