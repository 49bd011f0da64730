#include "formats/gguf_shape.h"

#include <algorithm>
#include <utility>

#include "formats/gguf_attention.h"
#include "formats/gguf_layers.h"
#include "formats/gguf_weights.h"
#include "formats/kv_heads.h"

namespace attend {
namespace {

class GgufShapeReader {
 public:
  GgufShapeReader(const GgufFile& file, std::string_view architecture)
      : file_(file), source_(SourceOf(file)), fields_(file, source_), prefix_(std::string(architecture) + ".") {
    shape_.architecture = architecture;
  }

  Result<ModelShape> Read() {
    ATTEND_ASSIGN_OR_RETURN(shape_.name, file_.StringOr("general.name", ""));
    ATTEND_RETURN_IF_ERROR(RefuseStates());
    const ModelFamily* family = FindGgufFamily(shape_.architecture);
    if (family == nullptr) {
      Doubt("architecture " + Quote(shape_.architecture) +
            " is not known: a layer is charged a full cache where no key says otherwise");
    }
    const ModelFamily known = family == nullptr ? ModelFamily() : *family;
    ATTEND_ASSIGN_OR_RETURN(const uint32_t num_blocks, fields_.Number(Key("block_count"), kMaxLayers));
    ATTEND_ASSIGN_OR_RETURN(const uint32_t num_layers, ReadLayers(num_blocks));
    ATTEND_RETURN_IF_ERROR(ReadSizes());
    GgufAttention attention(file_, fields_, prefix_, shape_.hidden_size);
    ATTEND_RETURN_IF_ERROR(attention.Read(num_blocks, family));
    ATTEND_ASSIGN_OR_RETURN(GgufLayerKinds layers, ReadGgufLayerKinds(file_, fields_, prefix_, known, num_blocks));
    for (uint32_t i = 0; i < num_layers; ++i) {
      ATTEND_ASSIGN_OR_RETURN(LayerShape layer, attention.Layer(i, layers));
      if (i + layers.num_shared >= num_layers && layer.num_q_heads > 0) layer.cache.kind = CacheKind::kShared;
      shape_.layers.push_back(layer);
    }
    if (std::all_of(shape_.layers.begin(), shape_.layers.end(), KeepsAndSeesNothing)) {
      return fields_.BadValue(Key("attention.head_count"), "a layer with query and KV heads, or with a state", "none");
    }
    for (std::string& doubt : attention.TakeDoubts()) Doubt(std::move(doubt));
    for (std::string& doubt : layers.doubts) Doubt(std::move(doubt));
    ATTEND_RETURN_IF_ERROR(ReadParameters());
    ATTEND_RETURN_IF_ERROR(CheckKvHeads(family != nullptr));
    return std::move(shape_);
  }

 private:
  static HeaderSource SourceOf(const GgufFile& file) {
    HeaderSource source;
    source.bad_value = ErrorCode::kGgufBadValue;
    source.where = file.name();
    return source;
  }
  static bool KeepsAndSeesNothing(const LayerShape& layer) {
    return layer.num_q_heads == 0 && layer.cache.state_bytes == 0;
  }
  std::string Key(const char* name) const { return prefix_ + name; }
  void Doubt(std::string sentence) { shape_.doubts.push_back(std::move(sentence)); }

  // Recurrent layers other than those of the ssm keys.
  Result<void> RefuseStates() const {
    for (const char* name : {"wkv.head_size", "kda.head_dim", "shortconv.l_cache"}) {
      if (file_.Has(Key(name))) return fields_.Unsupported(Key(name), "layers of attention or of ssm keys", "others");
    }
    return {};
  }

  // The last blocks of some files predict further tokens.
  Result<uint32_t> ReadLayers(uint32_t num_blocks) {
    const std::string key = Key("nextn_predict_layers");
    ATTEND_ASSIGN_OR_RETURN(const uint32_t num_further, fields_.Count(key, kMaxLayers));
    if (num_further >= num_blocks) {
      return fields_.BadValue(key, "fewer than the " + std::to_string(num_blocks) + " blocks",
                              std::to_string(num_further));
    }
    if (num_further > 0) {
      Doubt("the last " + std::to_string(num_further) + " of " + std::to_string(num_blocks) +
            " blocks predict further tokens: they are held and not run");
    }
    return num_blocks - num_further;
  }

  Result<void> ReadSizes() {
    ATTEND_ASSIGN_OR_RETURN(shape_.hidden_size, fields_.Number(Key("embedding_length"), kMaxHiddenSize));
    ATTEND_ASSIGN_OR_RETURN(shape_.vocab_size, ReadVocabSize());
    ATTEND_ASSIGN_OR_RETURN(const uint32_t stated, fields_.Number(Key("context_length"), kMaxSeqLen));
    ATTEND_ASSIGN_OR_RETURN(const uint32_t original,
                            fields_.Count(Key("rope.scaling.original_context_length"), kMaxSeqLen));
    const std::string factor_key = Key("rope.scaling.factor");
    ATTEND_ASSIGN_OR_RETURN(double factor, file_.FloatOr(factor_key, 0));
    if (factor == 0) {
      factor = 1;  // 0 is how converters write "none"
    } else {
      ATTEND_ASSIGN_OR_RETURN(factor, fields_.Real(factor_key, kRopeFactorRange));
    }
    shape_.trained_tokens = TrainedTokens(stated, original, factor);
    return {};
  }

  // The table's rows; without one, what the header says.
  Result<uint32_t> ReadVocabSize() {
    const std::string key = Key("vocab_size");
    const TensorEntry* table = file_.FindTensor("token_embd.weight");
    if (table == nullptr && file_.Has(key)) return fields_.Number(key, kMaxVocabSize);
    if (table == nullptr) {
      ATTEND_ASSIGN_OR_RETURN(const auto tokens, file_.Strings("tokenizer.ggml.tokens"));
      ATTEND_RETURN_IF_ERROR(CheckRange(source_, "tokenizer.ggml.tokens", static_cast<double>(tokens.size()),
                                        {1, kMaxVocabSize}, fields_.OffsetOf("tokenizer.ggml.tokens")));
      return static_cast<uint32_t>(tokens.size());
    }
    if (table->shape.size() != 2 || table->shape[0] == 0 || table->shape[0] > kMaxVocabSize ||
        table->shape[1] != shape_.hidden_size) {
      return FormatError(
          ErrorCode::kGgufBadShape, file_.name(), Subject("tensor", table->name),
          "[vocabulary of at most " + std::to_string(kMaxVocabSize) + ", " + std::to_string(shape_.hidden_size) + "]",
          ShapeText(table->shape), table->offset);
    }
    const uint64_t rows = table->shape[0];
    ATTEND_ASSIGN_OR_RETURN(const uint64_t stated, file_.UnsignedOr(key, rows));
    if (stated != rows) {
      Doubt("a vocabulary of " + std::to_string(stated) + " is stated, the embeddings have " + std::to_string(rows) +
            " rows: these count");
    }
    return static_cast<uint32_t>(rows);
  }

  Result<void> ReadParameters() {
    const auto num_layers = static_cast<uint32_t>(shape_.layers.size());
    ATTEND_ASSIGN_OR_RETURN(const GgufWeights weights, WeighTensors(file_, shape_.architecture, num_layers));
    for (size_t i = 0; i < num_layers; ++i) {
      shape_.layers[i].parameters = weights.layers[i].parameters;
      shape_.layers[i].active_parameters = weights.layers[i].active_parameters;
    }
    shape_.table_parameters = weights.table_parameters;
    shape_.head_parameters = weights.head_parameters;
    shape_.stated_parameters = weights.parameters;
    if (weights.parameters > 0) shape_.weight_bits = 8 * static_cast<double>(weights.bytes) / weights.parameters;
    return ReadMlpWidth();
  }

  // By the tensors' rows: of experts those that a token is sent to.
  Result<void> ReadMlpWidth() {
    ATTEND_ASSIGN_OR_RETURN(const uint32_t used, fields_.Count(Key("expert_used_count"), kMaxIntermediateSize));
    for (const TensorEntry& tensor : file_.tensors()) {
      uint64_t width = 0;
      if (tensor.name.ends_with(".ffn_up.weight") && tensor.shape.size() == 2) width = tensor.shape[0];
      if (tensor.name.ends_with(".ffn_up_exps.weight") && tensor.shape.size() == 3) width = used * tensor.shape[1];
      shape_.mlp_width = std::max(shape_.mlp_width, static_cast<uint32_t>(std::min<uint64_t>(width, UINT32_MAX)));
    }
    return {};
  }

  // Of an architecture that is not known the matrices may be of another kind: the dearer figure counts, with a doubt.
  Result<void> CheckKvHeads(bool is_known) {
    auto fault = FindKvHeadsFault(shape_, file_.tensors(), TensorNaming::kGguf, file_.name());
    if (!fault) return {};
    if (is_known) return tl::unexpected(std::move(fault->error));
    Doubt(fault->error.subject + ": " + fault->error.expected + "; its own " + fault->error.found +
          "; the dearer one counts");
    constexpr KvFormat kAny = {};
    if (fault->by_tensor.KvBytesPerToken(kAny) > shape_.KvBytesPerToken(kAny)) {
      shape_.layers = std::move(fault->by_tensor.layers);
    }
    return {};
  }

  const GgufFile& file_;
  const HeaderSource source_;
  const GgufFields fields_;
  const std::string prefix_;
  ModelShape shape_;
};

}  // namespace

Result<ModelShape> ShapeOfGguf(const GgufFile& file) {
  ATTEND_ASSIGN_OR_RETURN(const std::string_view architecture, file.String("general.architecture"));
  return GgufShapeReader(file, architecture).Read();
}

}  // namespace attend
