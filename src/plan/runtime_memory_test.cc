// What each runtime's rules make of the same model, by hand, and what holds for all of them.
#include "plan/runtime_memory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "formats/presets.h"

namespace attend {
namespace {

constexpr KvFormat kF16 = KvFormat::Both(DType::kF16);
constexpr double kGib = 0x1p30;

ModelFootprint Named(const char* name, Policy policy) {
  return MakeFootprint(*ReadPreset(*FindPreset(name)), policy);
}

double KvGib(const char* model, Policy policy, int64_t tokens, DType dtype = DType::kF16) {
  const RuntimeMemory m = RuntimeMemoryOf(Named(model, policy), KvFormat::Both(dtype), tokens, {});
  return static_cast<double>(m.kv_bytes) / kGib;
}

TEST(RuntimeMemory, BlockFormatsOfLlama8b) {
  const std::pair<DType, double> formats[] = {{DType::kF16, 16},   {DType::kQ8_0, 8.5}, {DType::kQ5_1, 6},
                                              {DType::kQ5_0, 5.5}, {DType::kQ4_1, 5},   {DType::kQ4_0, 4.5}};
  for (const auto& [dtype, gib] : formats) {
    EXPECT_EQ(KvGib("llama-3.1-8b", Policy::kLlamaCpp, 131'072, dtype), gib) << NameOf(dtype);
    EXPECT_EQ(KvGib("llama-3.1-8b", Policy::kFormula, 131'072, dtype), gib) << NameOf(dtype);
  }
}

// 18 full and 18 window layers of 128, 2,048 B a token and layer.
TEST(RuntimeMemory, WindowLayersByRuntime) {
  const uint64_t layer = 2048;
  const auto kv = [](Policy policy, const RuntimeSettings& settings) {
    return RuntimeMemoryOf(Named("gpt-oss-120b", policy), kF16, 100'000, settings).kv_bytes;
  };
  EXPECT_EQ(kv(Policy::kFormula, {}), 18 * layer * (100'000 + 128));
  EXPECT_EQ(kv(Policy::kLlamaCpp, {}), 18 * layer * (100'096 + 768));  // 128 + 512 = 640, in 256s 768
  EXPECT_EQ(kv(Policy::kVllm, {}), 36 * layer * 100'000);              // as full ones
  RuntimeSettings two;
  two.concurrent = 2;
  EXPECT_EQ(kv(Policy::kLlamaCpp, two), 18 * layer * (200'192 + 768));  // 2 * 128 + 512 = 768
  EXPECT_EQ(kv(Policy::kVllm, two), 2 * 36 * layer * 100'000);
}

TEST(RuntimeMemory, BuffersThatGrowWithTheText) {
  const ModelShape deepseek = *ReadPreset(*FindPreset("deepseek-v3.1")),
                   llama = *ReadPreset(*FindPreset("llama-3.1-8b"));
  EXPECT_EQ(static_cast<double>(KqBufferBytes(deepseek, 163'840, 512)) / kGib, 40.0);
  EXPECT_EQ(static_cast<double>(KqBufferBytes(llama, 131'072, 512)) / kGib, 8.0);
  const ModelShape qwen = *ReadPreset(*FindPreset("qwen2.5-0.5b"));
  EXPECT_EQ(static_cast<double>(AttentionMapBytes(qwen, 8192)) / kGib, 42.0);
  EXPECT_EQ(static_cast<double>(AttentionMapBytes(llama, 2048)) / kGib, 8.0);
  EXPECT_EQ(static_cast<double>(AttentionMapBytes(llama, 32'768)) / 0x1p40, 2.0);
  EXPECT_EQ(static_cast<double>(AttentionMapBytes(llama, 131'072)) / 0x1p40, 32.0);
  RuntimeSettings without;
  without.flash_attention = false;
  const ModelFootprint f = Named("llama-3.1-8b", Policy::kLlamaCpp);
  const uint64_t mask = uint64_t{131'072} * 512 * 2;  // 4 bytes a cell without flash attention, 2 with
  EXPECT_EQ(RuntimeMemoryOf(f, kF16, 131'072, without).workspace_bytes,
            RuntimeMemoryOf(f, kF16, 131'072, {}).workspace_bytes + (uint64_t{8} << 30) + mask);
}

TEST(RuntimeMemory, EagerKeepsMapsWhereTheyAreAskedFor) {
  RuntimeSettings keeps;
  keeps.keeps_maps = true;
  const ModelFootprint f = Named("qwen2.5-0.5b", Policy::kHfEager);
  const uint64_t scores = RuntimeMemoryOf(f, kF16, 8192, {}).workspace_bytes;
  EXPECT_EQ(RuntimeMemoryOf(f, kF16, 8192, keeps).workspace_bytes - scores, uint64_t{42} << 30);
  EXPECT_EQ(scores - RuntimeMemoryOf(Named("qwen2.5-0.5b", Policy::kHfSdpa), kF16, 8192, {}).workspace_bytes,
            uint64_t{14} * 8192 * 8192 * 6);
}

RC_GTEST_PROP(RuntimeMemory, NeverFallsWithTokensAndNeverWraps, ()) {
  const Policy policy = *rc::gen::elementOf(std::vector<Policy>(AllPolicies().begin() + 1, AllPolicies().end()));
  const char* model =
      *rc::gen::element("llama-3.1-8b", "gpt-oss-20b", "deepseek-v3", "qwen3-next-80b-a3b", "bert-large");
  const ModelFootprint f = Named(model, policy);
  const int64_t tokens = *rc::gen::inRange<int64_t>(0, int64_t{1} << 52);
  RuntimeSettings s;
  s.concurrent = *rc::gen::inRange<int64_t>(1, 1000);
  s.flash_attention = *rc::gen::arbitrary<bool>();
  s.keeps_maps = *rc::gen::arbitrary<bool>();
  const RuntimeMemory less = RuntimeMemoryOf(f, kF16, tokens / 2, s), more = RuntimeMemoryOf(f, kF16, tokens, s);
  RC_ASSERT(less.kv_bytes <= more.kv_bytes);
  RC_ASSERT(less.workspace_bytes <= more.workspace_bytes);
}

TEST(Shard, DividesWeightsAndHeads) {
  const ModelFootprint whole = Named("llama-3.1-70b", Policy::kFormula), part = Shard(whole, 4);
  EXPECT_EQ(part.weights_bytes, (whole.weights_bytes + 3) / 4);
  EXPECT_EQ(part.shape.KvBytes(kF16, 1000) * 4, whole.shape.KvBytes(kF16, 1000));
  EXPECT_DOUBLE_EQ(part.shape.AttentionFlops(1000, 0) * 4, whole.shape.AttentionFlops(1000, 0));
  // 8 KV heads over 16 devices: each holds one. A latent cache is held by each.
  EXPECT_EQ(Shard(whole, 16).shape.KvBytes(kF16, 1000) * 8, whole.shape.KvBytes(kF16, 1000));
  const ModelFootprint latent = Named("deepseek-v3", Policy::kFormula);
  EXPECT_EQ(Shard(latent, 8).shape.KvBytes(kF16, 1000), latent.shape.KvBytes(kF16, 1000));
}

}  // namespace
}  // namespace attend
