// The forward pass against tests/golden/models: logits, hidden states, attention weights and greedy tokens of tiny
// random models of the Llama family, on every instruction set this processor has, in class f32, from both config
// layouts.
#include <cmath>
#include <filesystem>

#include "tests/golden_util.h"

namespace attend {
namespace {

struct TinyCase {
  const char* family;
  const char* prompt;
  Isa isa;
};

std::vector<TinyCase> TinyCases() {
  std::vector<TinyCase> cases;
  for (Isa isa : DetectMachine().isas) {
    for (const char* family : {"llama", "llama_9_3"}) {
      for (const char* prompt : {"p7", "p48"}) cases.push_back({family, prompt, isa});
    }
  }
  return cases;
}

class TinyModel : public testing::TestWithParam<TinyCase> {};

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
  return largest;
}

TEST_P(TinyModel, LogitsHiddenAndAttentionWeights) {
  const auto [family, prompt, isa] = GetParam();
  const std::string folder = std::string("models/") + family, p = std::string(prompt) + ".";
  const GoldenFile golden(folder + "/expected.safetensors");
  const Runner run(GoldenPath(folder), isa, Compute::kF32);
  const ModelHeader& h = run.model.front.header;
  const std::vector<uint32_t> ids = golden.Ids(p + "input_ids");
  const int64_t t = static_cast<int64_t>(ids.size());

  std::vector<float> weights(golden.Get<float>(p + "attn").size(), 0.0f);  // [L, H, T, T]
  std::vector<std::vector<float>> hidden;
  const auto take_rows = [&](const float* rows, int64_t stride) {
    std::vector<float> flat;
    for (int64_t i = 0; i < t; ++i) flat.insert(flat.end(), rows + i * stride, rows + i * stride + h.hidden_size);
    hidden.push_back(std::move(flat));
  };
  const ForwardHooks hooks = {.on_layer =
                                  [&](const LayerTrace& trace) {
                                    take_rows(trace.input, trace.hidden_stride);
                                    for (int64_t head = 0; head < h.num_q_heads; ++head) {
                                      const int64_t at = (trace.layer * h.num_q_heads + head) * t * t;
                                      run.HeadWeights(trace, head, weights.data() + at);
                                    }
                                  },
                              .on_final_hidden = [&](const float* rows, int64_t stride) { take_rows(rows, stride); }};
  KvCache cache = run.Cache();
  const std::vector<float> logits = run.AllLogits(ids, cache, hooks);

  EXPECT_LE(LargestDifference(logits, golden.Get<float>(p + "logits")), 2e-4);
  EXPECT_LE(LargestDifference(weights, golden.Get<float>(p + "attn")), 2e-5);
  ASSERT_EQ(hidden.size(), h.num_layers + 1);
  for (uint32_t layer = 0; layer <= h.num_layers; ++layer) {
    EXPECT_LE(LargestDifference(hidden[layer], golden.Get<float>(p + "hidden." + std::to_string(layer))), 2e-4)
        << layer;
  }
  // Every row of every head and layer went through the engine.
  EXPECT_EQ(run.transformer->attention_rows(), t * h.num_q_heads * h.num_layers);
}

TEST_P(TinyModel, GreedyTokensWithTheCache) {
  const auto [family, prompt, isa] = GetParam();
  const std::string folder = std::string("models/") + family, p = std::string(prompt) + ".";
  const GoldenFile golden(folder + "/expected.safetensors");
  const Runner run(GoldenPath(folder), isa, Compute::kF32);
  KvCache cache = run.Cache();
  const auto logits = Prefill(*run.transformer, cache, golden.Ids(p + "input_ids"));
  ASSERT_TRUE(logits);
  const auto out =
      Generate(*run.transformer, cache, *logits, {.max_tokens = 16, .stop_ids = {}, .repetition_tokens = 0});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->ids, golden.Ids(p + "greedy_ids"));
}

TEST_P(TinyModel, ChunkedPrefillEqualsOnePass) {
  const auto [family, prompt, isa] = GetParam();
  const std::string folder = std::string("models/") + family;
  const GoldenFile golden(folder + "/expected.safetensors");
  const std::vector<uint32_t> ids = golden.Ids(std::string(prompt) + ".input_ids");
  for (int64_t chunk : {1, 3, 5, 16}) {
    const Runner run(GoldenPath(folder), isa, Compute::kF32, chunk);
    KvCache cache = run.Cache();
    EXPECT_LE(LargestDifference(run.AllLogits(ids, cache), golden.Get<float>(std::string(prompt) + ".logits")), 2e-4)
        << chunk;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryIsa, TinyModel, testing::ValuesIn(TinyCases()), [](const auto& param_info) {
  return std::string(param_info.param.family) + "_" + param_info.param.prompt + "_" +
         std::string(NameOf(param_info.param.isa));
});

TEST(TinyModelConfig, BothLayoutsLoadToTheSameHeader) {
  for (const char* family : {"llama", "llama_9_3"}) {
    const std::string folder = GoldenPath(std::string("models/") + family);
    const auto modern = ReadTextFile(folder + "/config.json", 1 << 20),
               legacy = ReadTextFile(folder + "/config.legacy.json", 1 << 20);
    ASSERT_TRUE(modern && legacy);
    const auto a = ReadModelHeader(*modern, "config.json"), b = ReadModelHeader(*legacy, "config.legacy.json");
    ASSERT_TRUE(a && b);
    EXPECT_TRUE(*a == *b) << family;
  }
}

TEST(TinyModelErrors, TokensOutsideTheVocabularyAndTooManyTokens) {
  const Runner run(GoldenPath("models/llama"), Isa::kScalar, Compute::kF32, 8);
  KvCache cache = run.Cache();
  const std::vector<uint32_t> outside = {1, 160}, many(9, 1);
  EXPECT_EQ(run.transformer->Forward(outside, cache, Logits::kNone, {}).error().code, ErrorCode::kBadArgument);
  EXPECT_EQ(run.transformer->Forward(many, cache, Logits::kNone, {}).error().code, ErrorCode::kContextExceeded);
  EXPECT_EQ(cache.num_tokens(), 0);
}

}  // namespace
}  // namespace attend
