#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/gguf_test_builder.h"
#include "formats/gguf_test_cases.h"
#include "formats/model_header.h"

namespace attend {
namespace {

using testing::AppendValue;
using testing::Bytes;
using ::testing::ElementsAre;
using testing::GgufBuilder;
using testing::LoadGguf;
using testing::TinyLlama;

ModelHeader MustLoad(const GgufBuilder& builder) {
  const auto header = LoadGguf(builder.Build());
  if (!header) {
    ADD_FAILURE() << Describe(header.error());
    return {};
  }
  return *header;
}

ModelHeader TinyHeader() {
  ModelHeader header;
  header.architecture = "llama";
  header.name = "tiny";
  header.num_layers = 1;
  header.hidden_size = 8;
  header.intermediate_size = 12;
  header.num_q_heads = 2;
  header.num_kv_heads = 1;
  header.head_dim = header.v_head_dim = header.rotary_dim = 4;
  header.vocab_size = 5;
  header.max_seq_len = 64;
  header.norm_eps = 1e-5f;
  header.rope_theta = 100000;
  header.rope_style = RopeStyle::kInterleaved;
  return header;
}

TEST(GgufHeader, ReadsALlamaModel) {
  EXPECT_EQ(MustLoad(TinyLlama()), TinyHeader());
}

TEST(GgufHeader, IsTiedWithoutOutputWeights) {
  ModelHeader expected = TinyHeader();
  expected.tied_embeddings = true;
  EXPECT_EQ(MustLoad(TinyLlama().RemoveTensor("output.weight")), expected);
}

TEST(GgufHeader, TakesDefaultsForAbsentKeys) {
  GgufBuilder builder = TinyLlama();
  builder.Remove("llama.rope.freq_base").Remove("llama.attention.head_count_kv").Remove("general.name");
  for (const char* name : {"blk.0.attn_k.weight", "blk.0.attn_v.weight"})
    builder.RemoveTensor(name).Floats(name, {8, 8});
  const ModelHeader header = MustLoad(builder);
  EXPECT_EQ(header.rope_theta, 10000);
  EXPECT_EQ(header.num_kv_heads, 2u);
  EXPECT_EQ(header.name, "");
}

TEST(GgufHeader, HeadSizesMayDifferFromTheWidth) {
  GgufBuilder builder = TinyLlama();
  builder.Uint32("llama.attention.key_length", 6)
      .Uint32("llama.attention.value_length", 2)
      .Uint32("llama.rope.dimension_count", 4);
  for (const char* name :
       {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight", "blk.0.attn_output.weight"}) {
    builder.RemoveTensor(name);
  }
  builder.Floats("blk.0.attn_q.weight", {8, 12}).Floats("blk.0.attn_k.weight", {8, 6});
  builder.Floats("blk.0.attn_v.weight", {8, 2}).Floats("blk.0.attn_output.weight", {4, 8});
  const ModelHeader header = MustLoad(builder);
  EXPECT_EQ(header.head_dim, 6u);
  EXPECT_EQ(header.v_head_dim, 2u);
  EXPECT_EQ(header.rotary_dim, 4u);
}

TEST(GgufHeader, ReadsRopeScaling) {
  EXPECT_EQ(MustLoad(TinyLlama().Float32("llama.rope.scaling.factor", 4)).rope_scaling.kind,
            RopeScaling::Kind::kLinear);
  EXPECT_EQ(MustLoad(TinyLlama().Float32("llama.rope.scale_linear", 4)).rope_scaling.factor, 4);
  EXPECT_EQ(MustLoad(TinyLlama().Float32("llama.rope.scaling.factor", 0)).rope_scaling, RopeScaling());
  EXPECT_EQ(MustLoad(TinyLlama().String("llama.rope.scaling.type", "none")).rope_scaling, RopeScaling());
  GgufBuilder builder = TinyLlama();
  Bytes divisors;
  AppendValue(divisors, 1.0f);
  AppendValue(divisors, 8.0f);
  builder.Tensor({.name = "rope_freqs.weight", .dims = {2}, .data = divisors});
  const RopeScaling scaling = MustLoad(builder).rope_scaling;
  EXPECT_EQ(scaling.kind, RopeScaling::Kind::kDivisors);
  EXPECT_THAT(scaling.divisors, ElementsAre(1.0f, 8.0f));
  const auto both = LoadGguf(builder.Float32("llama.rope.scaling.factor", 4).Build());
  ASSERT_FALSE(both.has_value());
  EXPECT_EQ(both.error().code, ErrorCode::kUnsupportedFeature);
}

TEST(GgufHeader, NeedsNoTokenizer) {
  GgufBuilder builder = TinyLlama();
  std::erase_if(builder.keys, [](const auto& key) { return key.first.starts_with("tokenizer."); });
  EXPECT_EQ(MustLoad(builder), TinyHeader());
}

}  // namespace
}  // namespace attend
