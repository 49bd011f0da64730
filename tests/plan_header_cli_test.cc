// attend plan of files that do not run here: other architectures, other types of tensors, weights not yet fetched.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "formats/gguf_shape_test_util.h"
#include "tests/cli_util.h"

namespace attend {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::HeaderBuilder;
using testing::SmallHeader;
using testing::TinyLlama;

CliResult Plan(const CliFolder& home, const std::string& model, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"plan", "-m", model, "--tokens", "1000", "--memory", "1GiB", "--json"});
  return home.Run(more);
}

TEST(PlanHeader, AnyArchitectureAndTypeByItsHeaderAlone) {
  const CliFolder home;
  HeaderBuilder builder = SmallHeader("gpt-oss").Set("attention.sliding_window", 128);
  builder.Set("expert_count", 4).Set("expert_used_count", 1);
  builder.Block(0, "ffn_up_exps", {256, 64, 4}, testing::kQ4KId);
  const CliResult result = Plan(home, home.Write("other.gguf", builder.Header()), {"-n", "0"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json plan = json::parse(result.out);
  EXPECT_EQ(plan.at("policy"), "formula");
  EXPECT_TRUE(plan.at("times").is_null());
  const int64_t expert = 64 * 144, table = 6400 * 2, rest = 4 * 2 * 64 * 32 * 2;
  EXPECT_EQ(plan.at("memory").at("weights_bytes"), table + rest + 4 * expert);
  EXPECT_EQ(plan.at("decode_weight_bytes"), table + rest + expert);
  EXPECT_EQ(plan.at("kv_bytes_per_token"), 4 * 2 * 2 * 16 * 2);
  EXPECT_EQ(plan.at("kv_bytes"), 2 * (1128 + 128) * 2 * 2 * 16 * 2);
  EXPECT_THAT(plan.at("doubts").dump(), HasSubstr("the file ends before its weights do"));
  const CliResult ours = Plan(home, home.Path("other.gguf"), {"--policy", "ours"});
  EXPECT_EQ(ours.status, 2);
  EXPECT_THAT(ours.err, HasSubstr("does not run here"));
}

TEST(PlanHeader, AWholeFileLeavesNoDoubt) {
  const CliFolder home;
  testing::GgufBuilder builder = TinyLlama();
  for (auto& [key, value] : std::vector(builder.keys)) {
    if (!key.starts_with("llama.")) continue;
    builder.Remove(key).keys.emplace_back("qwen3." + key.substr(6), value);
  }
  builder.String("general.architecture", "qwen3").Uint32("qwen3.context_length", 4096);
  const CliResult result = Plan(home, home.Write("whole.gguf", builder.Build()));
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(json::parse(result.out).at("doubts"), json::array());
}

// Of a llama model, too, the first bytes are enough; a tokenizer of another kind is no obstacle.
TEST(PlanHeader, ALlamaModelThatIsNotAllHere) {
  const CliFolder home;
  testing::Bytes bytes = TinyLlama().Uint32("llama.context_length", 4096).Build();
  bytes.resize(bytes.size() - 100);
  const CliResult part = Plan(home, home.Write("part.gguf", bytes));
  EXPECT_EQ(part.status, 0) << part.err;
  EXPECT_THAT(part.out, HasSubstr("ends before its weights do"));
  EXPECT_EQ(home.Run({"score", "-m", home.Path("part.gguf"), home.Write("a.txt", std::string("word"))}).status, 3);
  testing::GgufBuilder other = TinyLlama().Uint32("llama.context_length", 4096);
  other.String("tokenizer.ggml.model", "llama").Remove("tokenizer.ggml.merges");
  const CliResult spm = Plan(home, home.Write("spm.gguf", other.Build()));
  EXPECT_EQ(spm.status, 0) << spm.err;
}

TEST(PlanHeader, DamageStaysAnError) {
  const CliFolder home;
  const auto refused = [&](const testing::Bytes& bytes, const char* code) {
    const CliResult result = Plan(home, home.Write("bad.gguf", bytes));
    EXPECT_EQ(result.status, 3) << result.out;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(code));
  };
  testing::Bytes cut = SmallHeader("qwen3").Header();
  cut.resize(cut.size() - 1);
  refused(cut, "gguf_truncated");
  refused(SmallHeader("qwen3").Set("attention.head_count_kv", 4).Header(), "gguf_bad_shape");
  refused(SmallHeader("qwen3").Remove("block_count").Header(), "gguf_missing");
  refused(SmallHeader("qwen3").Set("block_count", 5).Header(), "gguf_missing");
  HeaderBuilder type = SmallHeader("qwen3");
  type.file.Find("blk.0.attn_k.weight").type = 77;
  refused(type.file.Header(), "gguf_bad_type");
}

// A Hugging Face folder of another architecture: its config.json, and the tensor list beside it.
TEST(PlanHeader, AFolderThatDoesNotRunHere) {
  const CliFolder home;
  const auto plan_with = [&](int kv_heads) {
    json config = {{"model_type", "qwen3"},    {"hidden_size", 64},
                   {"num_hidden_layers", 1},   {"vocab_size", 100},
                   {"num_attention_heads", 4}, {"num_key_value_heads", kv_heads},
                   {"intermediate_size", 128}, {"max_position_embeddings", 4096}};
    home.Write("folder/config.json", config.dump());
    return Plan(home, home.Path("folder"));
  };
  const std::string list =
      R"({"model.layers.0.self_attn.k_proj.weight":{"dtype":"F16","shape":[32,64],"data_offsets":[0,4096]}})";
  testing::Bytes file;
  testing::AppendString(file, list);
  file.resize(file.size() + 4096);
  home.Write("folder/model.safetensors", file);
  const CliResult right = plan_with(2), wrong = plan_with(4);
  ASSERT_EQ(right.status, 0) << right.err;
  EXPECT_EQ(json::parse(right.out).at("memory").at("weights_bytes"), 4096);
  EXPECT_EQ(wrong.status, 3);
  EXPECT_THAT(wrong.err, HasSubstr("64 rows: 4 KV heads, a cache of 256 B a token"));
  EXPECT_THAT(wrong.err, HasSubstr("32 rows: 2 KV heads, a cache of 128 B a token"));
}

TEST(PlanHeader, ANameOfAPresetIsNotTheBeginningOfALocalName) {
  const CliFolder home;
  home.Write(".cache/attend/models/llama-3.1-8b-of-mine.gguf",
             TinyLlama().Uint32("llama.context_length", 4096).Build());
  const auto weights = [&](const char* name) {
    const json plan = json::parse(Plan(home, name).out);  // refused or not
    return plan.at("memory").at("weights_bytes").get<double>();
  };
  EXPECT_GT(weights("llama-3.1-8b"), 1e10);
  EXPECT_LT(weights("llama-3.1-8b-of"), 1e6);
}

}  // namespace
}  // namespace attend
