// Which layers of a GGUF file's model keep what: windows, shared and latent keys, states.
#include <gmock/gmock.h>

#include "formats/gguf_shape_test_util.h"

namespace attend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HeaderBuilder;
using ::testing::IsEmpty;
using testing::Kinds;
using testing::MustRead;
using testing::ShapeOf;
using testing::SmallHeader;

const KvFormat kF16 = KvFormat::Both(DType::kF16);

TEST(GgufLayers, WindowsAreNamedOrFollowAPeriod) {
  const auto with_window = [](const char* architecture) {
    return SmallHeader(architecture).Set("attention.sliding_window", 128);
  };
  EXPECT_EQ(Kinds(with_window("gpt-oss")), "wfwf");
  EXPECT_EQ(Kinds(with_window("gemma2")), "wfwf");
  EXPECT_EQ(Kinds(with_window("gemma3")), "wwww");
  EXPECT_EQ(Kinds(with_window("phi3")), "wwww");
  EXPECT_EQ(Kinds(with_window("gemma3").Set("attention.sliding_window_pattern", 3)), "wwfw");
  EXPECT_EQ(Kinds(with_window("olmo2").Set("attention.sliding_window_pattern", 0)), "wwww");
  EXPECT_EQ(Kinds(with_window("gemma3").Flags("attention.sliding_window_pattern", {true, false, false, true})), "wffw");
  EXPECT_EQ(Kinds(with_window("olmo2").Set("attention.sliding_window_pattern", std::vector<int32_t>{0, 1, 1, 0})),
            "fwwf");
  EXPECT_EQ(MustRead(with_window("gpt-oss")).layers[0].cache.window_tokens, 128u);
  EXPECT_EQ(Kinds(SmallHeader("gemma3").Set("attention.sliding_window", 0)), "ffff");
  EXPECT_EQ(Kinds(SmallHeader("phi3")), "ffff");
}

TEST(GgufLayers, SharedLayersReadAndKeepNothing) {
  HeaderBuilder b = SmallHeader("gemma3n").Set("attention.sliding_window", 128).Set("attention.shared_kv_layers", 2);
  b.Flags("attention.sliding_window_pattern", {true, false, true, false});
  const ModelShape shape = MustRead(b);
  EXPECT_EQ(Kinds(shape), "wfss");
  EXPECT_EQ(shape.KvBytesPerToken(kF16), 2u * 2 * 2 * 16 * 2);
  EXPECT_EQ(shape.KvBytes(kF16, 1000), (128u + 1000) * 2 * 2 * 16 * 2);
  EXPECT_EQ(shape.KvReadBytes(kF16, 999, 1), (128u + 1000) * 2 * 2 * 2 * 16 * 2);
  EXPECT_EQ(shape.AttentionFlops(1, 999), 2.0 * (16 + 16) * 4 * 2 * (128 + 1000));
  EXPECT_THAT(ShapeOf(b.Set("attention.shared_kv_layers", 4)).error().subject, HasSubstr("shared_kv_layers"));
}

TEST(GgufLayers, LatentLayersKeepRankAndRope) {
  HeaderBuilder b = SmallHeader("deepseek2").Set("attention.kv_lora_rank", 32).Set("rope.dimension_count", 8);
  b.Set("attention.head_count_kv", 1).Set("attention.key_length", 40).Set("attention.value_length", 32);
  b.Set("attention.key_length_mla", 24).Set("attention.value_length_mla", 16);
  const ModelShape shape = MustRead(b);
  EXPECT_EQ(shape.KvBytesPerToken(kF16), 4u * 40 * 2);
  EXPECT_EQ(shape.AttentionFlops(1, 0), 4 * 2.0 * (24 + 16) * 4);
  EXPECT_THAT(shape.doubts, IsEmpty());
  // Before the latent cache, heads were stated whole.
  b.Remove("attention.key_length_mla").Remove("attention.value_length_mla").Set("attention.head_count_kv", 4);
  const ModelShape old = MustRead(b.Set("attention.key_length", 24).Set("attention.value_length", 16));
  EXPECT_EQ(old.KvBytesPerToken(kF16), shape.KvBytesPerToken(kF16));
  EXPECT_EQ(old.AttentionFlops(9, 0), shape.AttentionFlops(9, 0));
  EXPECT_THAT(old.doubts, ElementsAre(HasSubstr("key_length_mla")));
  EXPECT_THAT(ShapeOf(b.Remove("rope.dimension_count")).error().subject, HasSubstr("rope.dimension_count"));
}

TEST(GgufLayers, LayersWithAState) {
  const auto with_states = [](const char* architecture) {
    HeaderBuilder b = SmallHeader(architecture).Set("ssm.inner_size", 128).Set("ssm.state_size", 16);
    return b.Set("ssm.group_count", 2).Set("ssm.conv_kernel", 4);
  };
  const uint64_t state = 128 * 16 * 4 + (128 + 2 * 2 * 16) * 3 * 2;
  EXPECT_EQ(Kinds(with_states("qwen3next")), "lllf");
  EXPECT_EQ(Kinds(with_states("qwen35").Set("full_attention_interval", 2)), "lflf");
  EXPECT_EQ(Kinds(with_states("qwen35").Flags("attention.recurrent_layers", {false, true, true, false})), "fllf");
  EXPECT_EQ(MustRead(with_states("qwen3next")).KvBytes(kF16, 10), 3 * state + 10 * 2 * 2 * 16 * 2);
  HeaderBuilder jamba = with_states("jamba").Set("attention.head_count_kv", {0, 0, 2, 0});
  for (uint32_t i : {0u, 1u, 3u}) jamba.Block(i, "ssm_in", {64, 256});
  EXPECT_EQ(Kinds(jamba), "llfl");
  HeaderBuilder both = with_states("falcon-h1");
  for (uint32_t i = 0; i < 4; ++i) both.Block(i, "ssm_in", {64, 256});
  EXPECT_EQ(Kinds(both), "ffff");
  EXPECT_EQ(MustRead(both).KvBytes(kF16, 10), 4 * state + 4 * 10 * 2 * 2 * 16 * 2);
  HeaderBuilder mamba = with_states("mamba").Set("attention.head_count", 0).Remove("attention.head_count_kv");
  for (uint32_t i = 0; i < 4; ++i) mamba.Block(i, "ssm_in", {64, 256});
  EXPECT_EQ(MustRead(mamba).KvBytes(kF16, 10), 4 * state);
  EXPECT_THAT(MustRead(mamba).doubts, IsEmpty());
}

TEST(GgufLayers, ModelsThatDoNotGenerateKeepNothing) {
  EXPECT_EQ(Kinds(SmallHeader("bert")), "nnnn");
  HeaderBuilder unknown = SmallHeader("other-bert");
  unknown.file.Bool("other-bert.attention.causal", false);
  EXPECT_EQ(Kinds(unknown), "nnnn");
  EXPECT_EQ(MustRead(unknown).AttentionFlops(10, 0), 4 * 2.0 * 32 * 4 * 100);
}

}  // namespace
}  // namespace attend
