#include "formats/kv_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "formats/format_error.h"
#include "formats/name_index.h"

namespace attend {
namespace {

// Before and after the layer's number.
struct Names {
  const char* prefix;
  const char *k, *v, *qkv;
  const char* key;  // that says how many heads
  ErrorCode bad_shape;
};

constexpr Names kGgufNames = {"blk.",          "attn_k.weight",         "attn_v.weight", "attn_qkv.weight",
                              "head_count_kv", ErrorCode::kGgufBadShape};
constexpr Names kHuggingFaceNames = {"model.layers.",           "self_attn.k_proj.weight",
                                     "self_attn.v_proj.weight", "self_attn.qkv_proj.weight",
                                     "num_key_value_heads",     ErrorCode::kSafetensorsBadTensor};

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

class RowsCheck {
 public:
  RowsCheck(std::span<const TensorEntry> tensors, const Names& names) : tensors_(tensors), names_(names) {
    index_.Build(tensors.size(), [&](size_t i) { return NameAt(i); });
  }

  std::optional<RowsFault> FaultOf(size_t layer, const LayerShape& shape) const {
    constexpr uint64_t kMostHeads = 1 << 20;  // sums of bytes stay below 2^64
    const CacheDescriptor& cache = shape.cache;
    const uint64_t k = cache.k_head_dim, v = cache.v_head_dim;
    for (const auto& [name, fixed_rows, rows_per_head] : {Projection{names_.k, 0, k}, Projection{names_.v, 0, v},
                                                          Projection{names_.qkv, shape.num_q_heads * k, k + v}}) {
      const TensorEntry* tensor = Find(fmt::format("{}{}.{}", names_.prefix, layer, name));
      if (tensor == nullptr || tensor->shape.size() != 2) continue;
      const uint64_t rows = tensor->shape[0], expected = fixed_rows + cache.num_kv_heads * rows_per_head;
      if (rows == expected) continue;
      const uint64_t kv_rows = rows - std::min(rows, fixed_rows);
      return RowsFault{tensor, expected, std::min(kMostHeads, kv_rows / rows_per_head)};
    }
    return std::nullopt;
  }

 private:
  std::string_view NameAt(size_t i) const { return tensors_[i].name; }
  const TensorEntry* Find(const std::string& name) const {
    const auto position = index_.Find(name, [&](size_t i) { return NameAt(i); });
    return position ? &tensors_[*position] : nullptr;
  }

  std::span<const TensorEntry> tensors_;
  const Names& names_;
  NameIndex index_;
};

std::string Cost(const ModelShape& shape, uint64_t rows, uint64_t num_kv_heads) {
  return fmt::format("{} rows: {} KV heads, a cache of {} B a token in f16", rows, num_kv_heads,
                     shape.KvBytesPerToken(KvFormat::Both(DType::kF16)));
}

}  // namespace

std::optional<KvHeadsFault> FindKvHeadsFault(const ModelShape& shape, std::span<const TensorEntry> tensors,
                                             TensorNaming naming, const std::string& where) {
  const Names& names = naming == TensorNaming::kGguf ? kGgufNames : kHuggingFaceNames;
  const RowsCheck check(tensors, names);
  ModelShape by_tensor = shape;
  std::optional<RowsFault> first;
  uint64_t first_heads = 0;
  for (size_t i = 0; i < shape.layers.size(); ++i) {
    const CacheDescriptor& cache = shape.layers[i].cache;
    if (cache.kind == CacheKind::kNone || cache.num_kv_heads == 0 || cache.v_in_k) continue;
    const auto fault = check.FaultOf(i, shape.layers[i]);
    if (!fault) continue;
    if (!first) {
      first = fault;
      first_heads = cache.num_kv_heads;
    }
    by_tensor.layers[i].cache.num_kv_heads = static_cast<uint32_t>(fault->num_kv_heads);
  }
  if (!first) return std::nullopt;
  Error error = FormatError(names.bad_shape, where, Subject("tensor", first->tensor->name),
                            Cost(shape, first->expected_rows, first_heads) + ", as " + names.key + " says",
                            Cost(by_tensor, first->tensor->shape[0], first->num_kv_heads), first->tensor->offset)
                    .value();
  return KvHeadsFault{std::move(error), std::move(by_tensor)};
}

}  // namespace attend
