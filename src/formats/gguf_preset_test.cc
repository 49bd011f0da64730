// One model, told by its config.json and by the header of its GGUF file: the same plan. The headers are made here from
// the figures of data/models, as converters lay them out.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "formats/gguf_shape_test_util.h"
#include "formats/presets.h"

namespace attend {
namespace {

using nlohmann::json;
using testing::HeaderBuilder;
using testing::MustRead;

class Converter {
 public:
  Converter(const char* architecture, const json& config) : b_(architecture), c_(config) {}

  HeaderBuilder Convert() {
    b_.Set("block_count", Int("num_hidden_layers")).Set("embedding_length", width_);
    b_.Set("attention.head_count", q_heads_).Set("context_length", Int("max_position_embeddings"));
    b_.Set("attention.head_count_kv", kv_heads_).Set("attention.key_length", head_dim_);
    b_.Set("attention.value_length", head_dim_);
    if (Int("sliding_window") > 0 && c_.value("use_sliding_window", true)) {
      b_.Set("attention.sliding_window", Int("sliding_window"));
    }
    if (num_experts_ > 0) b_.Set("expert_count", num_experts_).Set("expert_used_count", Int("num_experts_per_tok"));
    if (Int("kv_lora_rank") > 0) SetLatent();
    if (Int("linear_num_key_heads") > 0) SetStates();
    b_.Tensor("token_embd.weight", {width_, Int("vocab_size")}).Tensor("output_norm.weight", {width_}, 0);
    if (!IsTied()) b_.Tensor("output.weight", {width_, Int("vocab_size")});
    for (uint32_t i = 0; i < Int("num_hidden_layers"); ++i) {
      AddAttention(i);
      AddMlp(i);
    }
    return b_;
  }

 private:
  uint32_t Int(const char* key, uint32_t fallback = 0) const {
    const auto value = c_.find(key);
    return value == c_.end() || value->is_null() ? fallback : value->get<uint32_t>();
  }
  bool IsTied() const {
    return c_.value("tie_word_embeddings", c_.at("model_type").get<std::string>().starts_with("gemma"));
  }

  void SetLatent() {
    b_.Set("attention.kv_lora_rank", Int("kv_lora_rank")).Set("rope.dimension_count", Int("qk_rope_head_dim"));
    b_.Set("attention.head_count_kv", 1).Set("attention.value_length", Int("kv_lora_rank"));
    b_.Set("attention.key_length", Int("kv_lora_rank") + Int("qk_rope_head_dim"));
    b_.Set("attention.key_length_mla", Int("qk_nope_head_dim") + Int("qk_rope_head_dim"));
    b_.Set("attention.value_length_mla", Int("v_head_dim"));
  }
  void SetStates() {
    b_.Set("ssm.inner_size", Int("linear_num_value_heads") * Int("linear_value_head_dim"));
    b_.Set("ssm.state_size", Int("linear_key_head_dim")).Set("ssm.group_count", Int("linear_num_key_heads"));
    b_.Set("ssm.conv_kernel", Int("linear_conv_kernel_dim")).Set("ssm.time_step_rank", Int("linear_num_value_heads"));
  }

  void AddAttention(uint32_t i) {
    b_.Block(i, "attn_norm", {width_}, 0).Block(i, "ffn_norm", {width_}, 0);
    const uint64_t interval = Int("full_attention_interval", 1);
    if ((i + 1) % interval != 0) return AddState(i);
    if (Int("kv_lora_rank") > 0) return AddLatent(i);
    const uint64_t gates = interval > 1 ? 2 : 1;  // the gated hybrids
    b_.Block(i, "attn_q", {width_, gates * q_heads_ * head_dim_}).Block(i, "attn_k", {width_, kv_heads_ * head_dim_});
    b_.Block(i, "attn_v", {width_, kv_heads_ * head_dim_}).Block(i, "attn_output", {q_heads_ * head_dim_, width_});
  }
  void AddState(uint32_t i) {
    const uint64_t k = Int("linear_num_key_heads") * Int("linear_key_head_dim");
    const uint64_t v = Int("linear_num_value_heads") * Int("linear_value_head_dim");
    b_.Block(i, "ssm_in", {width_, 2 * k + 2 * v}).Block(i, "ssm_ba", {width_, 2 * Int("linear_num_value_heads")});
    b_.Block(i, "ssm_conv1d", {Int("linear_conv_kernel_dim"), 2 * k + v}).Block(i, "ssm_out", {v, width_});
  }
  void AddLatent(uint32_t i) {
    const uint64_t rank = Int("kv_lora_rank"), rope = Int("qk_rope_head_dim"), nope = Int("qk_nope_head_dim");
    const uint64_t v = Int("v_head_dim");
    b_.Block(i, "attn_q", {width_, q_heads_ * (nope + rope)}).Block(i, "attn_kv_a_mqa", {width_, rank + rope});
    b_.Block(i, "attn_k_b", {nope, rank, q_heads_}).Block(i, "attn_v_b", {rank, v, q_heads_});
    b_.Block(i, "attn_output", {q_heads_ * v, width_});
  }

  void AddMlp(uint32_t i) {
    const bool has_experts = num_experts_ > 0 && i >= Int("first_k_dense_replace");
    const uint64_t size =
        has_experts ? Int("moe_intermediate_size", Int("intermediate_size")) : Int("intermediate_size");
    if (!has_experts) return AddMatrices(i, "", {width_, size});
    AddMatrices(i, "_exps", {width_, size, num_experts_});
    b_.Block(i, "ffn_gate_inp", {width_, num_experts_}, 0);
    const uint64_t shared = Int("n_shared_experts") * size + Int("shared_expert_intermediate_size");
    if (shared > 0) AddMatrices(i, "_shexp", {width_, shared});
  }
  void AddMatrices(uint32_t i, const std::string& kind, std::vector<uint64_t> dims) {
    b_.Block(i, "ffn_gate" + kind, dims).Block(i, "ffn_up" + kind, dims);
    std::swap(dims[0], dims[1]);
    b_.Block(i, "ffn_down" + kind, dims);
  }

  HeaderBuilder b_;
  const json& c_;
  const uint32_t width_ = Int("hidden_size"), q_heads_ = Int("num_attention_heads");
  const uint32_t kv_heads_ = Int("num_key_value_heads"), head_dim_ = Int("head_dim", width_ / q_heads_);
  const uint32_t num_experts_ = std::max({Int("num_local_experts"), Int("n_routed_experts"), Int("num_experts")});
};

struct Pair {
  const char* preset;
  const char* architecture;
};
class GgufPreset : public ::testing::TestWithParam<Pair> {};
TEST_P(GgufPreset, IsPlannedAsItsConfig) {
  const Preset& preset = *FindPreset(GetParam().preset);
  const ModelShape by_config = *ReadPreset(preset);
  const json config = json::parse(preset.json).at("config");
  const ModelShape by_gguf = MustRead(Converter(GetParam().architecture, config).Convert());
  EXPECT_THAT(by_gguf.doubts, ::testing::IsEmpty());
  EXPECT_EQ(by_gguf.hidden_size, by_config.hidden_size);
  EXPECT_EQ(by_gguf.vocab_size, by_config.vocab_size);
  EXPECT_EQ(by_gguf.trained_tokens, by_config.trained_tokens);
  ASSERT_EQ(by_gguf.layers.size(), by_config.layers.size());
  for (size_t i = 0; i < by_gguf.layers.size(); ++i) {
    const LayerShape &a = by_gguf.layers[i], &b = by_config.layers[i];
    EXPECT_TRUE(a.cache == b.cache) << i;
    EXPECT_NEAR(a.active_parameters, b.active_parameters, 1e-3 * b.active_parameters) << i;
  }
  for (const int64_t tokens : {1, 1000, 131072}) {
    for (const DType dtype : {DType::kF16, DType::kQ8}) {
      const KvFormat format = KvFormat::Both(dtype);
      EXPECT_EQ(by_gguf.KvBytes(format, tokens), by_config.KvBytes(format, tokens));
      EXPECT_EQ(by_gguf.KvReadBytes(format, tokens, 1), by_config.KvReadBytes(format, tokens, 1));
    }
    EXPECT_EQ(by_gguf.AttentionFlops(tokens, 0), by_config.AttentionFlops(tokens, 0));
    EXPECT_NEAR(by_gguf.LinearFlops(tokens) / by_config.LinearFlops(tokens), 1, 1e-3);
  }
  // Rounded figures are held to 3 %, as in model_shape_test.cc.
  const bool is_rounded = std::fmod(by_config.stated_parameters, 1e9) == 0;
  EXPECT_NEAR(by_gguf.Parameters() / by_config.Parameters(), 1, is_rounded ? 0.03 : 0.005);
}
INSTANTIATE_TEST_SUITE_P(Models, GgufPreset,
                         ::testing::Values(Pair{"llama-3.1-8b", "llama"}, Pair{"llama-3.2-1b", "llama"},
                                           Pair{"mixtral-8x7b", "llama"}, Pair{"gemma-2-9b", "gemma2"},
                                           Pair{"gemma-3-27b", "gemma3"}, Pair{"gemma-3-1b", "gemma3"},
                                           Pair{"qwen2.5-7b", "qwen2"}, Pair{"qwen3-30b-a3b", "qwen3moe"},
                                           Pair{"gpt-oss-20b", "gpt-oss"}, Pair{"phi-3-mini-4k", "phi3"},
                                           Pair{"deepseek-v2-lite", "deepseek2"},
                                           Pair{"qwen3-next-80b-a3b", "qwen3next"}, Pair{"qwen3.5-27b", "qwen35"},
                                           Pair{"qwen3.5-35b-a3b", "qwen35moe"}));

}  // namespace
}  // namespace attend
