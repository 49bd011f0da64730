#include "formats/gguf_shape.h"

#include <gmock/gmock.h>

#include "formats/gguf_shape_test_util.h"
#include "formats/gguf_weights.h"
#include "formats/model_header.h"
#include "formats/model_shapes.h"

namespace attend {
namespace {

using testing::Bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HeaderBuilder;
using ::testing::IsEmpty;
using testing::Kinds;
using testing::MustRead;
using testing::ShapeOf;
using testing::SmallHeader;

const KvFormat kF16 = KvFormat::Both(DType::kF16);

TEST(GgufShape, ReadsTheUsualKeys) {
  const ModelShape shape = MustRead(SmallHeader("llama"));
  EXPECT_EQ(shape.name, "a model");
  EXPECT_EQ(shape.architecture, "llama");
  EXPECT_EQ(shape.hidden_size, 64u);
  EXPECT_EQ(shape.vocab_size, 100u);
  EXPECT_EQ(shape.trained_tokens, 4096u);
  EXPECT_EQ(shape.KvBytesPerToken(kF16), 4u * 2 * 2 * 16 * 2);
  EXPECT_EQ(shape.Parameters(), 6400 + 4 * 2 * 64 * 32);
  EXPECT_EQ(shape.ActiveParameters(), 4 * 2 * 64 * 32);
  EXPECT_THAT(shape.doubts, IsEmpty());
}

TEST(GgufShape, IsThatOfTheHeaderWhereAModelRunsHere) {
  const Bytes bytes = testing::TinyLlama().Build();
  const GgufFile file = *GgufFile::Parse(bytes, "test.gguf");
  const ModelShape by_header = ShapeOf(*ReadModelHeader(file)), shape = *ShapeOfGguf(file);
  ASSERT_EQ(shape.layers.size(), by_header.layers.size());
  EXPECT_TRUE(shape.layers[0].cache == by_header.layers[0].cache);
  EXPECT_EQ(shape.layers[0].parameters, by_header.layers[0].parameters);
  EXPECT_EQ(shape.trained_tokens, by_header.trained_tokens);
  EXPECT_EQ(shape.AttentionFlops(50, 0), by_header.AttentionFlops(50, 0));
  EXPECT_EQ(shape.LinearFlops(50), by_header.LinearFlops(50));
  EXPECT_THAT(shape.doubts, IsEmpty());
}

TEST(GgufShape, HeadsMayDifferFromLayerToLayer) {
  HeaderBuilder b = SmallHeader("llama");
  b.Set("attention.head_count", {4, 4, 0, 8}).Set("attention.head_count_kv", {1, 2, 0, 4});
  b.Set("attention.key_length", 16).Set("attention.value_length", 8);
  for (uint32_t i = 0; i < 4; ++i) {
    const uint64_t heads[] = {1, 2, 0, 4};
    b.Block(i, "attn_k", {64, heads[i] * 16}).Block(i, "attn_v", {64, heads[i] * 8});
  }
  const ModelShape shape = MustRead(b);
  EXPECT_EQ(Kinds(shape), "ffnf");
  EXPECT_EQ(shape.KvBytesPerToken(kF16), (1u + 2 + 4) * (16 + 8) * 2);
  EXPECT_EQ(shape.AttentionFlops(1, 0), 2.0 * (4 + 4 + 8) * (16 + 8));
  EXPECT_THAT(ShapeOf(b.Set("attention.head_count_kv", {1, 2, 0})).error().found, "3");
}

TEST(GgufShape, WhatIsAssumedIsSaid) {
  const auto doubt = [](const HeaderBuilder& b) {
    const ModelShape shape = MustRead(b);
    EXPECT_EQ(shape.doubts.size(), 1u);
    EXPECT_EQ(Kinds(shape), "ffff");
    EXPECT_GE(shape.KvBytesPerToken(kF16), 4u * 2 * 2 * 16 * 2);
    return shape.doubts.empty() ? "" : shape.doubts[0];
  };
  EXPECT_THAT(doubt(SmallHeader("frobnicator")), HasSubstr("'frobnicator'"));
  EXPECT_THAT(doubt(SmallHeader("gemma2")), HasSubstr("no gemma2.attention.sliding_window"));
  EXPECT_THAT(doubt(SmallHeader("qwen2").Set("attention.sliding_window", 64)), HasSubstr("not for which layers"));
  EXPECT_THAT(doubt(SmallHeader("llama").Set("vocab_size", 90)), HasSubstr("90"));
  HeaderBuilder silent = SmallHeader("llama").Remove("attention.head_count_kv");
  for (uint32_t i = 0; i < 4; ++i) silent.Block(i, "attn_k", {64, 64}).Block(i, "attn_v", {64, 64});
  EXPECT_THAT(doubt(silent), HasSubstr("head_count_kv"));
}

TEST(GgufShape, TheTrainedLengthIsScaledOnce) {
  HeaderBuilder b = SmallHeader("llama").Set("rope.scaling.original_context_length", 4096);
  b.file.Float32("llama.rope.scaling.factor", 4);
  EXPECT_EQ(MustRead(b).trained_tokens, 16384u);
  EXPECT_EQ(MustRead(b.Set("context_length", 16384)).trained_tokens, 16384u);
  b.file.Float32("llama.rope.scaling.factor", 0);
  EXPECT_EQ(MustRead(b).trained_tokens, 16384u);
}

TEST(GgufShape, ExpertsAreHeldAndSomeAreMet) {
  HeaderBuilder b = SmallHeader("qwen3moe").Set("expert_count", 8).Set("expert_used_count", 2);
  b.Block(0, "ffn_up_exps", {64, 32, 8}).Block(0, "ffn_gate_inp", {64, 8}).Block(1, "ffn_up_shexp", {64, 32});
  b.Block(2, "ffn_up.5", {64, 32}).Block(1, "attn_norm", {64}, 0).Tensor("output.weight", {64, 100});
  const ModelShape shape = MustRead(b);
  EXPECT_EQ(shape.layers[0].active_parameters, 2 * 64 * 32 + 64 * 32 * 2 + 64 * 8);
  EXPECT_EQ(shape.layers[1].active_parameters, 2 * 64 * 32 + 64 * 32);
  EXPECT_EQ(shape.layers[1].parameters, 2 * 64 * 32 + 64 * 32 + 64);
  EXPECT_EQ(shape.layers[2].active_parameters, 2 * 64 * 32 + 64 * 32 / 4);
  const Bytes bytes = b.Header();
  const auto weights = WeighTensors(*GgufFile::ParseHeader(bytes, "test.gguf"), "qwen3moe", 4);
  ASSERT_TRUE(weights) << Describe(weights.error());
  uint64_t all = 0;
  for (const testing::TestTensor& tensor : b.file.tensors) all += HeaderBuilder::BytesOf(tensor);
  EXPECT_EQ(weights->bytes, all);
  // Without three quarters of the experts and, the head being its own, without the table.
  EXPECT_EQ(weights->token_bytes, all - 2 * (64 * 32 * 6 + 64 * 32 * 3 / 4) - 2 * 6400);
}

TEST(GgufShape, BlocksThatPredictFurtherTokensAreNotRun) {
  const ModelShape shape = MustRead(SmallHeader("qwen35")
                                        .Set("nextn_predict_layers", 1)
                                        .Set("ssm.inner_size", 128)
                                        .Set("ssm.state_size", 16)
                                        .Set("ssm.conv_kernel", 4));
  EXPECT_EQ(shape.layers.size(), 3u);
  EXPECT_EQ(shape.Parameters(), 6400 + 4 * 2 * 64 * 32);
  EXPECT_THAT(shape.doubts, ElementsAre(HasSubstr("predict further tokens")));
}

TEST(GgufShape, KvHeadsThatTheTensorsContradict) {
  HeaderBuilder b = SmallHeader("llama").Set("attention.head_count_kv", 1);
  const auto shape = ShapeOf(b);
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().code, ErrorCode::kGgufBadShape);
  EXPECT_THAT(shape.error().subject, HasSubstr("blk.0.attn_k.weight"));
  EXPECT_THAT(shape.error().expected, HasSubstr("16 rows: 1 KV heads, a cache of 256 B"));
  EXPECT_THAT(shape.error().found, HasSubstr("32 rows: 2 KV heads, a cache of 512 B"));
  HeaderBuilder fused = SmallHeader("phi3").Block(2, "attn_qkv", {64, 64 + 4 * 16});
  EXPECT_TRUE(ShapeOf(fused));
  EXPECT_THAT(ShapeOf(fused.Block(2, "attn_qkv", {64, 192})).error().found, HasSubstr("4 KV heads"));
  // Not known, so not wrong: the dearer figure counts.
  const ModelShape unknown = MustRead(SmallHeader("frobnicator").Set("attention.head_count_kv", 1));
  EXPECT_EQ(unknown.KvBytesPerToken(kF16), 512u);
  EXPECT_THAT(unknown.doubts, ElementsAre(HasSubstr("not known"), HasSubstr("256 B")));
}

struct Refusal {
  const char* names;
  void (*damage)(HeaderBuilder&);
};
class GgufRefusal : public ::testing::TestWithParam<Refusal> {};
TEST_P(GgufRefusal, NamesTheKey) {
  HeaderBuilder b = SmallHeader("llama");
  GetParam().damage(b);
  const auto shape = ShapeOf(b);
  ASSERT_FALSE(shape);
  EXPECT_THAT(shape.error().subject, HasSubstr(GetParam().names));
  EXPECT_EQ(shape.error().where, "test.gguf");
}
INSTANTIATE_TEST_SUITE_P(
    Keys, GgufRefusal,
    ::testing::Values(
        Refusal{"general.architecture", [](auto& b) { b.file.Remove("general.architecture"); }},
        Refusal{"block_count", [](auto& b) { b.Remove("block_count"); }},
        Refusal{"block_count", [](auto& b) { b.Set("block_count", 0); }},
        Refusal{"block_count", [](auto& b) { b.Set("block_count", 100000); }},
        Refusal{"layer 4", [](auto& b) { b.Set("block_count", 5); }},
        Refusal{"embedding_length", [](auto& b) { b.file.Float32("llama.embedding_length", 64); }},
        Refusal{"embedding_length", [](auto& b) { b.Set("attention.head_count", 6); }},
        Refusal{"token_embd.weight", [](auto& b) { b.Set("embedding_length", 32); }},
        Refusal{"context_length", [](auto& b) { b.Set("context_length", 0xffffffffu); }},
        Refusal{"head_count'", [](auto& b) { b.Remove("attention.head_count"); }},
        Refusal{"head_count'", [](auto& b) { b.file.String("llama.attention.head_count", "4"); }},
        Refusal{"head_count'", [](auto& b) { b.Set("attention.head_count", 1u << 31); }},
        Refusal{"head_count'",
                [](auto& b) {
                  b.Set("attention.head_count", std::vector<int32_t>{4, -1, 4, 4});
                }},
        Refusal{"head_count_kv", [](auto& b) { b.Set("attention.head_count_kv", 3); }},
        Refusal{"head_count'", [](auto& b) { b.Set("attention.head_count_kv", 0); }},
        Refusal{"head_count'", [](auto& b) { b.Set("attention.head_count_kv", std::vector<int32_t>(4)); }},
        Refusal{"key_length", [](auto& b) { b.Set("attention.key_length", 0); }},
        Refusal{"sliding_window_pattern",
                [](auto& b) {
                  b.Flags("attention.sliding_window_pattern", {true, false});
                }},
        Refusal{"nextn_predict_layers", [](auto& b) { b.Set("nextn_predict_layers", 4); }},
        Refusal{"expert_count",
                [](auto& b) {
                  b.Block(0, "ffn_up_exps", {64, 32, 8});
                }},
        Refusal{"expert_used_count", [](auto& b) { b.Set("expert_count", 4).Set("expert_used_count", 5); }},
        Refusal{"expert_used_count", [](auto& b) { b.Set("expert_count", 4); }},
        Refusal{"ssm.state_size", [](auto& b) { b.Set("full_attention_interval", 2); }},
        Refusal{"wkv.head_size", [](auto& b) { b.Set("wkv.head_size", 64); }}));

}  // namespace
}  // namespace attend
