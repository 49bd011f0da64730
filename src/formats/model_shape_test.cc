#include "formats/model_shape.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "formats/model_shapes.h"
#include "formats/presets.h"

namespace attend {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr double kGiB = 1 << 30;
const KvFormat kF16 = KvFormat::Both(DType::kF16);

ModelShape Named(const char* name) {
  auto shape = ReadPreset(*FindPreset(name));
  EXPECT_TRUE(shape) << name << ": " << Describe(shape.error());
  return *shape;
}

json Llama() {
  return {{"model_type", "llama"},    {"hidden_size", 64},
          {"num_hidden_layers", 12},  {"num_attention_heads", 8},
          {"vocab_size", 100},        {"num_key_value_heads", 2},
          {"intermediate_size", 128}, {"max_position_embeddings", 4096}};
}
json With(json config, const json& more) {
  config.update(more);
  return config;
}
Result<ModelShape> Read(const json& config) {
  return ReadModelShape(config.dump(), "config.json");
}

// The published figures, to the printed digit.
struct CacheFigure {
  const char* model;
  uint64_t tokens;
  DType dtype;
  double gib;
};
class CacheFigureTest : public ::testing::TestWithParam<CacheFigure> {};
TEST_P(CacheFigureTest, IsThePublishedOne) {
  const CacheFigure& f = GetParam();
  const double gib = static_cast<double>(Named(f.model).KvBytes(KvFormat::Both(f.dtype), f.tokens)) / kGiB;
  EXPECT_NEAR(gib, f.gib, 0.005);
}
INSTANTIATE_TEST_SUITE_P(Golden, CacheFigureTest,
                         ::testing::Values(CacheFigure{"mistral-7b-v0.3", 3904, DType::kF16, 488.0 / 1024},
                                           CacheFigure{"llama-3.1-8b", 131072, DType::kF16, 16},
                                           CacheFigure{"gemma-3-27b", 131072, DType::kF16, 10.41},
                                           CacheFigure{"deepseek-v3.1", 163840, DType::kF16, 10.72},
                                           CacheFigure{"qwen3-0.6b", 40960, DType::kF16, 4.375},
                                           CacheFigure{"law-firm-13b", 128000, DType::kF16, 20.9715 * 1e9 / kGiB},
                                           CacheFigure{"law-firm-13b-mha", 128000, DType::kF16,
                                                       104.8576 * 1e9 / kGiB}));

TEST(ModelShapeTest, BytesOfAToken) {
  EXPECT_EQ(Named("llama-3.1-8b").KvBytesPerToken(kF16), 131072u);
  EXPECT_EQ(Named("law-firm-13b").KvBytesPerToken(kF16), 163840u);
  EXPECT_EQ(Named("deepseek-v3").KvBytesPerToken(kF16), 61u * 576 * 2);
  EXPECT_EQ(Named("gpt-oss-120b").KvBytesPerToken(kF16), 73728u);
  // Half the layers see 128 tokens: far on, one token more costs half.
  const ModelShape oss = Named("gpt-oss-120b");
  EXPECT_EQ(oss.KvBytes(kF16, 100001) - oss.KvBytes(kF16, 100000), 36864u);
  EXPECT_EQ(Named("bert-large").KvBytes(kF16, 512), 0u);
  EXPECT_EQ(Named("bert-large").AttentionFlops(512, 0), 24 * 2.0 * (64 + 64) * 16 * 512 * 512);  // sees all, both ways
}

// Every fourth layer of the hybrid has keys; the others a state that does not grow.
TEST(ModelShapeTest, HybridLayersKeepAState) {
  const ModelShape shape = Named("qwen3.5-27b");
  EXPECT_EQ(shape.KvBytesPerToken(kF16), 16u * 2 * 4 * 256 * 2);
  const uint64_t state = 48u * 128 * 128 * 4 + (2u * 16 * 128 + 48 * 128) * 3 * 2;
  EXPECT_EQ(shape.KvBytes(kF16, 1) - shape.KvBytesPerToken(kF16), 48u * state);
}

// A wrong size anywhere shows in the sum.
TEST(PresetsTest, ShapesAddUpToThePublishedParameters) {
  EXPECT_GE(Presets().size(), 60u);
  for (const Preset& preset : Presets()) {
    auto shape = ReadPreset(preset);
    ASSERT_TRUE(shape) << preset.name << ": " << Describe(shape.error());
    EXPECT_TRUE(shape->doubts.empty()) << preset.name << ": " << shape->doubts[0];
    if (preset.name.starts_with("law-firm")) continue;
    const double published = shape->stated_parameters;
    shape->stated_parameters = 0;
    const bool is_rounded = std::fmod(published, 1e9) == 0;
    EXPECT_NEAR(shape->Parameters() / published, 1, is_rounded ? 0.03 : 0.005) << preset.name;
    EXPECT_LE(shape->ActiveParameters(), shape->Parameters()) << preset.name;
  }
  EXPECT_EQ(FindPreset("Llama-3.1-8B"), FindPreset("llama-3.1-8b"));
  EXPECT_EQ(FindPreset("llama"), nullptr);
}

TEST(ModelShapeTest, FlopsOfLlama8bAt131072) {
  const ModelShape shape = Named("llama-3.1-8b");
  EXPECT_NEAR(shape.LinearFlops(131072) / 1e15, 1.83, 0.005);
  for (const auto& [tokens, share] : {std::pair{4096, 7.1}, {32768, 38.1}, {131072, 71.1}}) {
    const double attention = shape.AttentionFlops(tokens, 0);
    EXPECT_NEAR(100 * attention / (attention + shape.LinearFlops(tokens)), share, 0.05) << tokens;
  }
}

RC_GTEST_PROP(ModelShapeTest, ChunksOfAPromptAddUpToIt, ()) {
  const int64_t window = *rc::gen::inRange(1, 300);
  std::vector<int64_t> chunks = *rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(1, 200));
  int64_t depth = 0;
  double sum = 0, plain = 0;
  for (const int64_t chunk : chunks) {
    sum += WindowPairs(depth, chunk, window);
    for (int64_t i = depth; i < depth + chunk; ++i) plain += static_cast<double>(std::min(i + 1, window));
    depth += chunk;
  }
  RC_ASSERT(sum == WindowPairs(0, depth, window));
  RC_ASSERT(sum == plain);
}

TEST(ModelShapeTest, KindsOfLayersAreNamedOrFollowAPeriod) {
  const auto windows = [](const json& more) {
    const auto shape = Read(With(Llama(), more));
    EXPECT_TRUE(shape) << Describe(shape.error());
    std::string kinds;
    for (const LayerShape& layer : shape->layers) kinds += layer.cache.kind == CacheKind::kWindow ? 'w' : 'f';
    return kinds;
  };
  EXPECT_EQ(windows(json::object()), "ffffffffffff");
  EXPECT_EQ(windows({{"model_type", "mistral"}, {"sliding_window", 64}}), "wwwwwwwwwwww");
  EXPECT_EQ(windows({{"model_type", "mistral"}, {"sliding_window", nullptr}}), "ffffffffffff");
  EXPECT_EQ(windows({{"model_type", "gemma2"}, {"sliding_window", 64}}), "wfwfwfwfwfwf");
  EXPECT_EQ(windows({{"model_type", "gemma3_text"}, {"sliding_window", 64}}), "wwwwwfwwwwwf");
  EXPECT_EQ(windows({{"model_type", "gemma3_text"}, {"sliding_window", 64}, {"sliding_window_pattern", 4}}),
            "wwwfwwwfwwwf");
  EXPECT_EQ(windows({{"model_type", "qwen2"}, {"sliding_window", 64}}), "ffffffffffff");
  EXPECT_EQ(
      windows(
          {{"model_type", "qwen2"}, {"sliding_window", 64}, {"use_sliding_window", true}, {"max_window_layers", 9}}),
      "fffffffffwww");
  json types = json::array();
  for (int i = 0; i < 12; ++i) types.push_back(i < 5 ? "full_attention" : "sliding_attention");
  EXPECT_EQ(windows({{"layer_types", types}, {"sliding_window", 64}}), "fffffwwwwwww");
}

TEST(ModelShapeTest, TheTrainedLengthIsScaledOnce) {
  const auto trained = [](const json& more) { return Read(With(Llama(), more))->trained_tokens; };
  const json yarn = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 4096}};
  EXPECT_EQ(trained({{"rope_scaling", yarn}}), 16384u);
  EXPECT_EQ(trained({{"rope_scaling", yarn}, {"max_position_embeddings", 16384}}), 16384u);
  EXPECT_EQ(trained({{"rope_parameters", yarn}, {"max_position_embeddings", 16384}}), 16384u);
  EXPECT_EQ(trained({{"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}}}), 4096u);
  EXPECT_EQ(Named("llama-3.1-8b").trained_tokens, 131072u);
  EXPECT_EQ(Named("llama-3.2-1b").trained_tokens, 131072u);  // 32 times 8,192 is not its length
}

TEST(ModelShapeTest, WhatIsAssumedIsSaid) {
  json silent = Llama();
  silent.erase("num_key_value_heads");
  const auto shape = Read(silent);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->layers[0].cache.num_kv_heads, 8u);
  ASSERT_EQ(shape->doubts.size(), 1u);
  EXPECT_THAT(shape->doubts[0], HasSubstr("num_key_value_heads"));
  const auto unknown = Read(With(Llama(), {{"model_type", "frobnicator"}}));
  ASSERT_TRUE(unknown);
  ASSERT_EQ(unknown->doubts.size(), 1u);
  EXPECT_THAT(unknown->doubts[0], HasSubstr("frobnicator"));
  EXPECT_EQ(unknown->KvBytesPerToken(kF16), 12u * 2 * 2 * 8 * 2);
}

TEST(ModelShapeTest, TheTextModelInsideAnotherIsRead) {
  EXPECT_EQ(
      Read({{"model_type", "gemma3"}, {"text_config", With(Llama(), {{"model_type", "gemma3_text"}})}})->architecture,
      "gemma3_text");
}

struct Refusal {
  const char* key;
  json more;
};
class RefusalTest : public ::testing::TestWithParam<Refusal> {};
TEST_P(RefusalTest, NamesTheField) {
  const auto shape = Read(With(Llama(), GetParam().more));
  ASSERT_FALSE(shape);
  EXPECT_THAT(shape.error().subject, HasSubstr(GetParam().key));
  EXPECT_EQ(shape.error().where, "config.json");
}
INSTANTIATE_TEST_SUITE_P(
    Fields, RefusalTest,
    ::testing::Values(Refusal{"hidden_size", {{"hidden_size", 63}}}, Refusal{"hidden_size", {{"hidden_size", -64}}},
                      Refusal{"hidden_size", {{"hidden_size", "64"}}}, Refusal{"hidden_size", {{"hidden_size", 1e18}}},
                      Refusal{"hidden_size", {{"hidden_size", 1u << 30}}},
                      Refusal{"hidden_size", {{"hidden_size", nullptr}}},
                      Refusal{"num_hidden_layers", {{"num_hidden_layers", 0}}},
                      Refusal{"num_key_value_heads", {{"num_key_value_heads", 16}}},
                      Refusal{"num_key_value_heads", {{"num_key_value_heads", 3}}},
                      Refusal{"max_position_embeddings", {{"max_position_embeddings", nullptr}}},
                      Refusal{"model_type", {{"model_type", 5}}},
                      Refusal{"layer_types", {{"layer_types", {"full_attention"}}}},
                      Refusal{"layer_types", {{"layer_types", json(12, "mamba")}}},
                      Refusal{"linear_num_key_heads", {{"full_attention_interval", 4}}},
                      Refusal{"sliding_window", {{"model_type", "mistral"}, {"sliding_window", -5}}},
                      Refusal{"num_experts_per_tok", {{"num_local_experts", 4}, {"num_experts_per_tok", 5}}},
                      Refusal{"qk_rope_head_dim", {{"kv_lora_rank", 512}}}));

}  // namespace
}  // namespace attend
