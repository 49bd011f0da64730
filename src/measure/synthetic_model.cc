#include "measure/synthetic_model.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/half.h"
#include "tensor/packed_bytes.h"

namespace attend {
namespace {

// Quantised, as most models of a size worth planning are; bf16 where a row is not whole blocks of 32.
constexpr DType DTypeFor(uint64_t inputs) {
  return inputs % kBlockInputs == 0 ? DType::kQ4_1 : DType::kBf16;
}

class Builder {
 public:
  Builder(const ModelHeader& header, ThreadPool& pool) : h_(header), pool_(pool) {}

  Result<ModelWeights> Build() {
    ModelWeights weights;
    ATTEND_ASSIGN_OR_RETURN(weights.embedding, Matrix(h_.vocab_size, h_.hidden_size));
    ATTEND_ASSIGN_OR_RETURN(weights.final_norm, Ones());
    for (uint32_t layer = 0; layer < h_.num_layers; ++layer) {
      ATTEND_ASSIGN_OR_RETURN(LayerWeights built, Layer());
      weights.layers.push_back(std::move(built));
    }
    return weights;
  }

 private:
  Result<LayerWeights> Layer() {
    const int64_t hidden = h_.hidden_size, mlp = h_.intermediate_size;
    LayerWeights w;
    ATTEND_ASSIGN_OR_RETURN(w.attention_norm, Ones());
    ATTEND_ASSIGN_OR_RETURN(w.query, Matrix(int64_t{h_.num_q_heads} * h_.head_dim, hidden));
    ATTEND_ASSIGN_OR_RETURN(w.key, Matrix(int64_t{h_.num_kv_heads} * h_.head_dim, hidden));
    ATTEND_ASSIGN_OR_RETURN(w.value, Matrix(int64_t{h_.num_kv_heads} * h_.v_head_dim, hidden));
    ATTEND_ASSIGN_OR_RETURN(w.output, Matrix(hidden, int64_t{h_.num_q_heads} * h_.v_head_dim));
    ATTEND_ASSIGN_OR_RETURN(w.mlp_norm, Ones());
    ATTEND_ASSIGN_OR_RETURN(w.gate, Matrix(mlp, hidden));
    ATTEND_ASSIGN_OR_RETURN(w.up, Matrix(mlp, hidden));
    ATTEND_ASSIGN_OR_RETURN(w.down, Matrix(hidden, mlp));
    return w;
  }

  Result<PackedMatrix> Matrix(int64_t outputs, int64_t inputs) {
    const DType dtype = DTypeFor(static_cast<uint64_t>(inputs));
    const size_t bytes = static_cast<size_t>(outputs * inputs / InfoOf(dtype).block_values) * InfoOf(dtype).block_bytes;
    std::vector<uint8_t>& source = dtype == DType::kQ4_1 ? blocks_ : plain_;
    while (blocks_.size() < bytes && dtype == DType::kQ4_1) AddBlock();
    if (plain_.size() < bytes && dtype == DType::kBf16) plain_.resize(bytes, 0x3c);  // 0x3c3c: 0.0115
    return PackedMatrix::Pack(dtype, {source.data(), bytes}, outputs, inputs, {}, "synthetic weights", pool_);
  }

  // half scale, half minimum, 32 nibbles: w = scale * nibble + minimum, here within +-0.06.
  void AddBlock() {
    const uint16_t scale = FloatToHalf(1.0f / 128), minimum = FloatToHalf(-7.5f / 128);
    uint8_t block[InfoOf(DType::kQ4_1).block_bytes];
    std::memcpy(block, &scale, 2);
    std::memcpy(block + 2, &minimum, 2);
    for (size_t i = 4; i < sizeof block; ++i) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      block[i] = static_cast<uint8_t>(state_ >> 56);
    }
    blocks_.insert(blocks_.end(), block, block + sizeof block);
  }

  Result<AlignedBuffer<float>> Ones() const {
    ATTEND_ASSIGN_OR_RETURN(auto ones, AlignedBuffer<float>::Make(h_.hidden_size, "synthetic weights"));
    std::fill(ones.span().begin(), ones.span().end(), 1.0f);
    return ones;
  }

  const ModelHeader& h_;
  ThreadPool& pool_;
  std::vector<uint8_t> blocks_, plain_;  // q4_1 and bf16 rows that serve every matrix: each packs a beginning of them
  uint64_t state_ = 1;
};

uint64_t LayerBytes(const ModelHeader& h) {
  const auto packed = [](uint64_t outputs, uint64_t inputs) {
    return PackedMatrixBytes(DTypeFor(inputs), outputs, inputs);
  };
  return packed(uint64_t{h.num_q_heads} * h.head_dim, h.hidden_size) +
         packed(uint64_t{h.num_kv_heads} * h.head_dim, h.hidden_size) +
         packed(uint64_t{h.num_kv_heads} * h.v_head_dim, h.hidden_size) +
         packed(h.hidden_size, uint64_t{h.num_q_heads} * h.v_head_dim) +
         2 * packed(h.intermediate_size, h.hidden_size) + packed(h.hidden_size, h.intermediate_size);
}

}  // namespace

Result<SyntheticModel> MakeSyntheticModel(const ModelHeader& header, uint64_t weight_bytes, ThreadPool& pool) {
  SyntheticModel model;
  model.header = header;
  model.header.tied_embeddings = true;
  model.header.vocab_size = std::min(header.vocab_size, kSyntheticVocabulary);
  const uint64_t fitting = weight_bytes / LayerBytes(header);
  model.header.num_layers = static_cast<uint32_t>(std::clamp<uint64_t>(fitting, 1, header.num_layers));
  ATTEND_ASSIGN_OR_RETURN(model.weights, Builder(model.header, pool).Build());
  return model;
}

}  // namespace attend
