// attend plan of GGUF files that do not run here: other architectures, other types of tensors, weights not yet fetched.
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

TEST(PlanGguf, AnyArchitectureAndTypeByItsHeaderAlone) {
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

TEST(PlanGguf, AWholeFileLeavesNoDoubt) {
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
TEST(PlanGguf, ALlamaModelThatIsNotAllHere) {
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

TEST(PlanGguf, DamageStaysAnError) {
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

TEST(PlanGguf, ANameOfAPresetIsNotTheBeginningOfALocalName) {
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
