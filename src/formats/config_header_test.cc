#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "formats/gguf_test_builder.h"
#include "formats/model_header.h"

namespace attend {
namespace {

using nlohmann::json;
using testing::Bytes;
using ::testing::HasSubstr;

const std::string kGoldens = std::string(ATTEND_SOURCE_DIR) + "/tests/golden/models/";

json TinyConfig() {
  return {{"model_type", "llama"},
          {"hidden_size", 8},
          {"intermediate_size", 12},
          {"num_hidden_layers", 1},
          {"num_attention_heads", 2},
          {"num_key_value_heads", 1},
          {"vocab_size", 5},
          {"rms_norm_eps", 1e-5},
          {"max_position_embeddings", 64},
          {"tie_word_embeddings", true},
          {"rope_theta", 100000.0}};
}

Result<ModelHeader> With(const std::string& key, const json& value) {
  json config = TinyConfig();
  config[key] = value;
  return ReadModelHeader(config.dump(), "config.json");
}

ModelHeader MustReadGolden(const std::string& name) {
  const auto text = ReadTextFile(kGoldens + name, 1 << 20);
  const auto header = text ? ReadModelHeader(*text, name) : tl::unexpected(text.error());
  if (!header) {
    ADD_FAILURE() << Describe(header.error());
    return {};
  }
  return *header;
}

TEST(ConfigHeader, BothLayoutsOfTheGoldenModelsSayTheSame) {
  for (const std::string model : {"llama", "llama_9_3"}) {
    const ModelHeader header = MustReadGolden(model + "/config.json");
    EXPECT_EQ(header, MustReadGolden(model + "/config.legacy.json")) << model;
    const auto weights = SafetensorsFile::Open(kGoldens + model + "/model.safetensors");
    ASSERT_TRUE(weights.has_value()) << Describe(weights.error());
    const auto checked = CheckTensors(header, *weights);
    EXPECT_TRUE(checked.has_value()) << Describe(checked.error());
  }
}

TEST(ConfigHeader, ReadsTheGoldenModels) {
  const ModelHeader llama = MustReadGolden("llama/config.json");
  EXPECT_EQ(llama.architecture, "llama");
  EXPECT_EQ(llama.num_layers, 3u);
  EXPECT_EQ(llama.head_dim, 12u);
  EXPECT_EQ(llama.num_kv_heads, 2u);
  EXPECT_EQ(llama.norm_eps, 1e-5f);
  EXPECT_EQ(llama.rope_style, RopeStyle::kHalf);
  EXPECT_FALSE(llama.tied_embeddings);
  EXPECT_EQ(llama.rope_scaling, (RopeScaling{.kind = RopeScaling::Kind::kLlama3,
                                             .factor = 8,
                                             .low_freq_factor = 1,
                                             .high_freq_factor = 4,
                                             .original_max_seq_len = 32}));
  const ModelHeader tied = MustReadGolden("llama_9_3/config.json");
  EXPECT_EQ(tied.num_q_heads, 9u);
  EXPECT_EQ(tied.num_kv_heads, 3u);
  EXPECT_EQ(tied.rope_theta, 100000);
  EXPECT_EQ(tied.rope_scaling, RopeScaling());
  EXPECT_TRUE(tied.tied_embeddings);
}

TEST(ConfigHeader, TakesDefaultsForAbsentAndNullFields) {
  json config = TinyConfig();
  config.erase("rope_theta");
  config.erase("num_key_value_heads");
  for (const char* key : {"head_dim", "rope_scaling", "sliding_window", "hidden_act"}) config[key] = nullptr;
  const auto header = ReadModelHeader(config.dump(), "config.json");
  ASSERT_TRUE(header.has_value()) << Describe(header.error());
  EXPECT_EQ(header->rope_theta, 10000);
  EXPECT_EQ(header->num_kv_heads, 2u);
  EXPECT_EQ(header->head_dim, 4u);
  EXPECT_EQ(With("head_dim", 6)->rotary_dim, 6u);
  EXPECT_EQ(With("rope_scaling", {{"type", "linear"}, {"factor", 4}})->rope_scaling.kind, RopeScaling::Kind::kLinear);
  EXPECT_EQ(With("rope_parameters", {{"rope_type", "default"}, {"rope_theta", 5e5}})->rope_theta, 5e5);
}

TEST(ConfigHeader, RefusesWhatItDoesNotImplementByName) {
  const std::vector<std::pair<std::string, json>> rows = {
      {"attention_bias", true},      {"mlp_bias", true},
      {"hidden_act", "gelu"},        {"quantization_config", json::object()},
      {"sliding_window", 16},        {"num_local_experts", 8},
      {"partial_rotary_factor", 0.5}};
  for (const auto& [key, value] : rows) {
    const auto header = With(key, value);
    ASSERT_FALSE(header.has_value()) << key;
    EXPECT_EQ(header.error().code, ErrorCode::kUnsupportedFeature) << Describe(header.error());
    EXPECT_THAT(Describe(header.error()), HasSubstr(key));
  }
  for (const char* type : {"yarn", "dynamic", "longrope", "su"}) {
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
      const auto header = With(key, {{"rope_type", type}, {"factor", 4}});
      ASSERT_FALSE(header.has_value()) << type;
      EXPECT_EQ(header.error().code, ErrorCode::kUnsupportedFeature);
      EXPECT_THAT(Describe(header.error()), HasSubstr(type));
    }
  }
  EXPECT_EQ(With("model_type", "mamba").error().code, ErrorCode::kUnsupportedArchitecture);
  EXPECT_THAT(Describe(With("model_type", "mamba").error()), HasSubstr("mamba"));
}

TEST(ConfigHeader, RefusesBadValuesByName) {
  const json llama3 = {{"rope_type", "llama3"},
                       {"factor", 8},
                       {"low_freq_factor", 4},
                       {"high_freq_factor", 4},
                       {"original_max_position_embeddings", 32}};
  const std::vector<std::pair<std::string, json>> rows = {{"hidden_size", 0},
                                                          {"hidden_size", -8},
                                                          {"hidden_size", 8.5},
                                                          {"hidden_size", "8"},
                                                          {"hidden_size", 9},
                                                          {"hidden_size", 1ull << 40},
                                                          {"num_hidden_layers", 1025},
                                                          {"num_attention_heads", 0},
                                                          {"num_key_value_heads", 3},
                                                          {"num_key_value_heads", 0},
                                                          {"vocab_size", 1 << 23},
                                                          {"max_position_embeddings", 1ll << 31},
                                                          {"rms_norm_eps", 0},
                                                          {"rms_norm_eps", 1},
                                                          {"rms_norm_eps", true},
                                                          {"rope_theta", 0.5},
                                                          {"rope_theta", json::array()},
                                                          {"head_dim", 7},
                                                          {"rope_scaling", 3},
                                                          {"model_type", 1},
                                                          {"tie_word_embeddings", 1},
                                                          {"intermediate_size", json::object()}};
  for (const auto& [key, value] : rows) {
    const auto header = With(key, value);
    ASSERT_FALSE(header.has_value()) << key << value;
    EXPECT_EQ(header.error().code, ErrorCode::kConfigBad) << Describe(header.error());
    EXPECT_THAT(Describe(header.error()), HasSubstr(key));
  }
  EXPECT_THAT(Describe(With("rope_parameters", llama3).error()), HasSubstr("high_freq_factor"));
  EXPECT_THAT(Describe(With("rope_scaling", {{"rope_type", "linear"}}).error()), HasSubstr("factor"));
  for (const char* key :
       {"model_type", "hidden_size", "num_hidden_layers", "vocab_size", "rms_norm_eps", "max_position_embeddings"}) {
    json config = TinyConfig();
    config.erase(key);
    EXPECT_THAT(Describe(ReadModelHeader(config.dump(), "config.json").error()), HasSubstr(key));
  }
  EXPECT_EQ(ReadModelHeader("[]", "config.json").error().code, ErrorCode::kConfigBad);
  EXPECT_EQ(ReadModelHeader("{", "config.json").error().code, ErrorCode::kJsonBad);
}

// A checkpoint of F32 zeros.
Bytes Checkpoint(const std::vector<std::pair<std::string, std::vector<uint64_t>>>& tensors) {
  json header = json::object();
  uint64_t end = 0;
  for (const auto& [name, shape] : tensors) {
    uint64_t size = sizeof(float);
    for (const uint64_t dim : shape) size *= dim;
    header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {end, end + size}}};
    end += size;
  }
  Bytes bytes;
  testing::AppendString(bytes, header.dump());
  bytes.resize(bytes.size() + end);
  return bytes;
}

TEST(CheckTensors, NamesWhatIsMissingWrongOrLeftOver) {
  const auto header = ReadModelHeader(TinyConfig().dump(), "config.json");
  ASSERT_TRUE(header.has_value()) << Describe(header.error());
  const std::string layer = "model.layers.0.";
  const std::vector<std::pair<std::string, std::vector<uint64_t>>> tensors = {
      {"model.embed_tokens.weight", {5, 8}},
      {layer + "input_layernorm.weight", {8}},
      {layer + "self_attn.q_proj.weight", {8, 8}},
      {layer + "self_attn.k_proj.weight", {4, 8}},
      {layer + "self_attn.v_proj.weight", {4, 8}},
      {layer + "self_attn.o_proj.weight", {8, 8}},
      {layer + "post_attention_layernorm.weight", {8}},
      {layer + "mlp.gate_proj.weight", {12, 8}},
      {layer + "mlp.up_proj.weight", {12, 8}},
      {layer + "mlp.down_proj.weight", {8, 12}},
      {"model.norm.weight", {8}}};
  const auto check = [&](const auto& changed) {
    const Bytes bytes = Checkpoint(changed);
    const auto file = SafetensorsFile::Parse(bytes, "model.safetensors");
    if (!file) return Describe(file.error());
    const auto checked = CheckTensors(*header, *file);
    return checked ? std::string("ok") : Describe(checked.error());
  };
  EXPECT_EQ(check(tensors), "ok");
  for (size_t i = 0; i < tensors.size(); ++i) {
    auto changed = tensors;
    changed[i].second[0] += 1;
    EXPECT_THAT(check(changed), HasSubstr(tensors[i].first + "'"));
    EXPECT_THAT(check(changed), HasSubstr("safetensors_bad_tensor"));
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_THAT(check(changed), HasSubstr(tensors[i].first + "'"));
    EXPECT_THAT(check(changed), HasSubstr("safetensors_missing"));
  }
  const auto plus = [&](const std::string& name, std::vector<uint64_t> shape) {
    auto changed = tensors;
    changed.emplace_back(name, std::move(shape));
    return check(changed);
  };
  EXPECT_THAT(plus(layer + "self_attn.q_proj.bias", {8}), HasSubstr("q_proj.bias"));
  EXPECT_EQ(plus(layer + "self_attn.rotary_emb.inv_freq", {2}), "ok");
  EXPECT_EQ(plus("lm_head.weight", {5, 8}), "ok");
}

}  // namespace
}  // namespace attend
