#include "model/weights.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <functional>

namespace attend {
namespace {

// How a file format names the tensors; {} is the layer.
struct TensorNames {
  const char *embedding, *final_norm, *vocabulary;
  const char *attention_norm, *query, *key, *value, *output, *mlp_norm, *gate, *up, *down;
};

constexpr TensorNames kGgufNames = {"token_embd.weight",       "output_norm.weight",        "output.weight",
                                    "blk.{}.attn_norm.weight", "blk.{}.attn_q.weight",      "blk.{}.attn_k.weight",
                                    "blk.{}.attn_v.weight",    "blk.{}.attn_output.weight", "blk.{}.ffn_norm.weight",
                                    "blk.{}.ffn_gate.weight",  "blk.{}.ffn_up.weight",      "blk.{}.ffn_down.weight"};

constexpr TensorNames kHuggingFaceNames = {
    "model.embed_tokens.weight",
    "model.norm.weight",
    "lm_head.weight",
    "model.layers.{}.input_layernorm.weight",
    "model.layers.{}.self_attn.q_proj.weight",
    "model.layers.{}.self_attn.k_proj.weight",
    "model.layers.{}.self_attn.v_proj.weight",
    "model.layers.{}.self_attn.o_proj.weight",
    "model.layers.{}.post_attention_layernorm.weight",
    "model.layers.{}.mlp.gate_proj.weight",
    "model.layers.{}.mlp.up_proj.weight",
    "model.layers.{}.mlp.down_proj.weight",
};

// Reads tensors of either file kind by name and releases their pages once packed.
template <typename File>
class WeightLoader {
 public:
  WeightLoader(const ModelHeader& header, const File& file, const TensorNames& names, ThreadPool& pool)
      : h_(header), file_(file), names_(names), pool_(pool) {}

  Result<ModelWeights> Load() {
    const int64_t hidden = h_.hidden_size;
    ModelWeights weights;
    ATTEND_ASSIGN_OR_RETURN(weights.embedding, Matrix(names_.embedding, h_.vocab_size, hidden));
    for (uint32_t layer = 0; layer < h_.num_layers; ++layer) {
      ATTEND_ASSIGN_OR_RETURN(LayerWeights loaded, LoadLayer(layer));
      weights.layers.push_back(std::move(loaded));
    }
    ATTEND_ASSIGN_OR_RETURN(weights.final_norm, Vector(names_.final_norm, hidden));
    if (!h_.tied_embeddings) {
      ATTEND_ASSIGN_OR_RETURN(weights.vocabulary, Matrix(names_.vocabulary, h_.vocab_size, hidden));
    }
    if (file_.mapping() != nullptr) ATTEND_RETURN_IF_ERROR(file_.mapping()->CheckUnchanged());
    return weights;
  }

 private:
  Result<LayerWeights> LoadLayer(uint32_t layer) {
    const int64_t hidden = h_.hidden_size, mlp = h_.intermediate_size;
    const int64_t q_width = int64_t{h_.num_q_heads} * h_.head_dim, k_width = int64_t{h_.num_kv_heads} * h_.head_dim;
    const int64_t v_width = int64_t{h_.num_kv_heads} * h_.v_head_dim, z_width = int64_t{h_.num_q_heads} * h_.v_head_dim;
    const RowOrder rotary{h_.rope_style == RopeStyle::kInterleaved ? int64_t{h_.head_dim} : 0};
    const auto name = [&](const char* pattern) { return fmt::format(fmt::runtime(pattern), layer); };
    LayerWeights w;
    ATTEND_ASSIGN_OR_RETURN(w.attention_norm, Vector(name(names_.attention_norm), hidden));
    ATTEND_ASSIGN_OR_RETURN(w.query, Matrix(name(names_.query), q_width, hidden, rotary));
    ATTEND_ASSIGN_OR_RETURN(w.key, Matrix(name(names_.key), k_width, hidden, rotary));
    ATTEND_ASSIGN_OR_RETURN(w.value, Matrix(name(names_.value), v_width, hidden));
    ATTEND_ASSIGN_OR_RETURN(w.output, Matrix(name(names_.output), hidden, z_width));
    ATTEND_ASSIGN_OR_RETURN(w.mlp_norm, Vector(name(names_.mlp_norm), hidden));
    ATTEND_ASSIGN_OR_RETURN(w.gate, Matrix(name(names_.gate), mlp, hidden));
    ATTEND_ASSIGN_OR_RETURN(w.up, Matrix(name(names_.up), mlp, hidden));
    ATTEND_ASSIGN_OR_RETURN(w.down, Matrix(name(names_.down), hidden, mlp));
    return w;
  }

  Result<const TensorEntry*> Find(const std::string& name) const {
    if (const TensorEntry* entry = file_.FindTensor(name)) return entry;
    return tl::unexpected(Error{.code = ErrorCode::kGgufMissing,
                                .where = file_.name(),
                                .subject = name,
                                .expected = "a tensor of that name",
                                .found = "none",
                                .hint = {}});
  }

  Result<PackedMatrix> Matrix(const std::string& name, int64_t outputs, int64_t inputs, RowOrder order = {}) {
    ATTEND_ASSIGN_OR_RETURN(const TensorEntry* const entry, Find(name));
    auto packed = PackedMatrix::Pack(entry->dtype, file_.Data(*entry), outputs, inputs, order, name.c_str(), pool_);
    Release(*entry);
    return packed;
  }

  Result<AlignedBuffer<float>> Vector(const std::string& name, int64_t size) {
    ATTEND_ASSIGN_OR_RETURN(PackedMatrix row, Matrix(name, 1, size));
    ATTEND_ASSIGN_OR_RETURN(auto vector, AlignedBuffer<float>::Make(static_cast<size_t>(size), name.c_str()));
    row.UnpackOutput(0, vector.data());
    return vector;
  }

  void Release(const TensorEntry& entry) const {
    if (file_.mapping() != nullptr) file_.mapping()->Release(entry.offset, entry.bytes);
  }

  const ModelHeader& h_;
  const File& file_;
  const TensorNames& names_;
  ThreadPool& pool_;
};

// Calls fn(name, matrix) for every matrix and stops at the first that fn accepts.
void ForEachMatrix(const ModelWeights& w, const std::function<void(std::string, const PackedMatrix&)>& fn) {
  fn("embedding", w.embedding);
  for (size_t i = 0; i < w.layers.size(); ++i) {
    const LayerWeights& l = w.layers[i];
    const std::pair<const char*, const PackedMatrix*> matrices[] = {
        {"query", &l.query}, {"key", &l.key}, {"value", &l.value}, {"output", &l.output},
        {"gate", &l.gate},   {"up", &l.up},   {"down", &l.down}};
    for (const auto& [name, matrix] : matrices) fn(fmt::format("layer {} {}", i, name), *matrix);
  }
  if (w.vocabulary) fn("vocabulary", *w.vocabulary);
}

bool AllFinite(const AlignedBuffer<float>& vector) {
  for (float x : vector.span()) {
    if (!std::isfinite(x)) return false;
  }
  return true;
}

}  // namespace

uint64_t ModelWeights::size_bytes() const {
  uint64_t bytes = final_norm.size_bytes();
  ForEachMatrix(*this, [&](const std::string&, const PackedMatrix& matrix) { bytes += matrix.size_bytes(); });
  for (const LayerWeights& layer : layers) bytes += layer.attention_norm.size_bytes() + layer.mlp_norm.size_bytes();
  return bytes;
}

std::optional<std::string> ModelWeights::FindNonfinite() const {
  std::optional<std::string> found;
  ForEachMatrix(*this, [&](std::string name, const PackedMatrix& matrix) {
    if (!found && matrix.HasNonfinite()) found = std::move(name);
  });
  for (size_t i = 0; i < layers.size() && !found; ++i) {
    if (!AllFinite(layers[i].attention_norm)) found = fmt::format("layer {} attention norm", i);
    if (!AllFinite(layers[i].mlp_norm)) found = fmt::format("layer {} mlp norm", i);
  }
  if (!found && !AllFinite(final_norm)) found = "final norm";
  return found;
}

Result<ModelWeights> LoadWeights(const ModelHeader& header, const GgufFile& file, ThreadPool& pool) {
  return WeightLoader<GgufFile>(header, file, kGgufNames, pool).Load();
}

Result<ModelWeights> LoadWeights(const ModelHeader& header, const SafetensorsFile& file, ThreadPool& pool) {
  return WeightLoader<SafetensorsFile>(header, file, kHuggingFaceNames, pool).Load();
}

}  // namespace attend
