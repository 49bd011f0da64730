// attend plan, as a user sees it: with the tiny model of gguf_test_builder.h, and with the real one where it is.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "formats/gguf_test_builder.h"
#include "tests/cli_util.h"
#include "tests/golden_util.h"

namespace attend {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// Trained on 1,024 tokens: room for the question that plan assumes.
std::string TinyModel(const CliFolder& home) {
  return home.Write("tiny.gguf", testing::TinyLlama().Uint32("llama.context_length", 1024).Build());
}

json PlanOf(const CliFolder& home, const std::string& model, std::vector<std::string> arguments, int status) {
  arguments.insert(arguments.begin(), {"plan", "-m", model, "--json"});
  const CliResult result = home.Run(arguments);
  EXPECT_EQ(result.status, status) << result.err;
  return json::parse(result.out, nullptr, false);
}

TEST(PlanCommand, OnePassOfTheRealModel) {
  ATTEND_NEEDS_REAL_MODEL(model);
  const CliFolder home;
  const json plan = PlanOf(home, model, {"--tokens", "7500", "--memory", "2GiB"}, 0);
  EXPECT_EQ(plan.at("schema"), "attend.plan");
  EXPECT_EQ(plan.at("version"), 1);
  EXPECT_EQ(plan.at("verdict"), "one_pass");
  EXPECT_EQ(plan.at("num_pieces"), 1);
  EXPECT_EQ(plan.at("kv_bytes_per_token"), 23040);
  EXPECT_TRUE(plan.at("kv_bytes").is_number_integer());
  EXPECT_EQ(plan.at("kv_bytes"), 122 * 64 * 23040);
  EXPECT_GT(plan.at("times").at("total_s").at("expected"), 0);
}

TEST(PlanCommand, PiecesBeyondTheTrainedLength) {
  ATTEND_NEEDS_REAL_MODEL(model);
  const CliFolder home;
  const json plan = PlanOf(home, model, {"--tokens", "20000", "--memory", "2GiB"}, 0);
  EXPECT_EQ(plan.at("verdict"), "pieces");
  EXPECT_EQ(plan.at("num_pieces"), 3);
  const json forbidden = PlanOf(home, model, {"--tokens", "20000", "--memory", "2GiB", "--max-pieces", "1"}, 1);
  EXPECT_EQ(forbidden.at("verdict"), "refused");
  const json too_small = PlanOf(home, model, {"--tokens", "7500", "--memory", "64MiB"}, 1);
  EXPECT_EQ(too_small.at("limit"), "memory");
  EXPECT_GT(too_small.at("shortfall_bytes"), 0);
}

TEST(PlanCommand, AbsurdLengthsAndMemories) {
  const CliFolder home;
  const std::string model = TinyModel(home);
  for (const char* tokens : {"1", "1000000", "1000000000000000"}) {
    for (const char* memory : {"0", "1GiB", "8000000TiB"}) {
      const CliResult result = home.Run({"plan", "-m", model, "--tokens", tokens, "--memory", memory, "--explain"});
      EXPECT_TRUE(result.status == 0 || result.status == 1)
          << tokens << " " << memory << " " << result.status << result.err;
      EXPECT_THAT(result.out, Not(HasSubstr("nan")));
    }
  }
}

TEST(PlanCommand, TheTableSaysTheVerdictFirst) {
  const CliFolder home;
  const std::string model = TinyModel(home);
  const CliResult refused = home.Run({"plan", "-m", model, "--tokens", "1000", "--memory", "1KiB"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.out, ::testing::StartsWith("Does not fit\n"));
  EXPECT_THAT(refused.out, HasSubstr("what would fit\n"));
  const CliResult explained = home.Run({"plan", "-m", model, "--tokens", "1000000", "--memory", "1GiB", "--explain"});
  EXPECT_THAT(explained.out, HasSubstr("kv_bytes_per_token = "));
}

TEST(PlanCommand, WrongUseIsExit2) {
  const CliFolder home;
  const std::string model = TinyModel(home), document = home.Write("a.txt", std::string("word"));
  const std::vector<std::string> uses[] = {{},
                                           {document, "--tokens", "5"},
                                           {"--tokens", "0"},
                                           {"--tokens", "1000000000000001"},
                                           {"--tokens", "5", "--memory", "much"},
                                           {"--tokens", "5", "--reserve", "101%"},
                                           {"--tokens", "5", "--reserve", "%"},
                                           {"--tokens", "5", "-c", "100000000"}};
  for (std::vector<std::string> use : uses) {
    use.insert(use.begin(), {"plan", "-m", model});
    const CliResult result = home.Run(use);
    EXPECT_EQ(result.status, 2) << use.back() << result.err;
    EXPECT_EQ(result.out, "") << use.back();
  }
}

TEST(PlanCommand, SpeedsAreMeasuredOnceAndAReadOnlyCacheCostsTimeOnly) {
  const CliFolder home;
  const std::string model = TinyModel(home), kept = home.Path(".cache/attend/calibration.json");
  ASSERT_EQ(home.Run({"plan", "-m", model, "--tokens", "9", "--memory", "1GiB"}).status, 0);
  const json file = json::parse(std::ifstream(kept), nullptr, false);
  EXPECT_EQ(file.at("schema"), "attend.calibration");
  ASSERT_EQ(file.at("entries").size(), 1u);
  EXPECT_GT(file.at("entries").at(0).at("linear_flops_per_s"), 0);
  EXPECT_EQ(PlanOf(home, model, {"--tokens", "9"}, 0).at("times"),
            PlanOf(home, model, {"--tokens", "9"}, 0).at("times"));

  home.Write(".cache/attend/calibration.json", std::string("{ damaged"));
  EXPECT_EQ(home.Run({"plan", "-m", model, "--tokens", "9", "--memory", "1GiB"}).status, 0);
  home.Write("file", std::string("not a folder"));
  const CliResult unwritable =
      home.Run({"plan", "-m", model, "--tokens", "9", "--memory", "1GiB"}, {{"XDG_CACHE_HOME", home.Path("file")}});
  EXPECT_EQ(unwritable.status, 0);
  EXPECT_THAT(unwritable.err, HasSubstr("not kept"));
}

// A model known by name: no weights, the published cache to the byte.
TEST(PlanCommand, AModelWithoutWeightsByItsName) {
  const CliFolder home;
  const json plan =
      PlanOf(home, "Law-Firm-13b", {"--tokens", "128000", "--question-tokens", "0", "-n", "0", "--memory", "80GB"}, 0);
  EXPECT_EQ(plan.at("policy"), "formula");
  EXPECT_EQ(plan.at("verdict"), "one_pass");
  EXPECT_EQ(plan.at("kv_bytes"), 20'971'520'000);
  EXPECT_EQ(plan.at("memory").at("total_bytes"), 46'971'520'000);
  const json mha =
      PlanOf(home, "law-firm-13b-mha",
             {"--tokens", "128000", "--question-tokens", "0", "-n", "0", "--memory", "80GB", "--max-pieces", "1"}, 1);
  EXPECT_EQ(mha.at("kv_bytes"), 104'857'600'000);
  EXPECT_EQ(mha.at("limit"), "memory");
}

TEST(PlanCommand, AConfigFileItsFolderAndStandardInput) {
  const CliFolder home;
  const std::string config = R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 100,
    "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 4096})";
  const std::string path = home.Write("model/config.json", config);
  const std::vector<std::string> fixed = {"--tokens", "100", "--memory", "1GiB"};  // what is available changes
  const json plan = PlanOf(home, path, fixed, 0);
  ASSERT_EQ(plan.at("doubts").size(), 1u);
  EXPECT_THAT(plan.at("doubts")[0], HasSubstr("num_key_value_heads"));
  EXPECT_EQ(PlanOf(home, path.substr(0, path.rfind('/')), fixed, 0), plan);
  const CliResult piped = home.RunScript("cat " + path + " | $ATTEND plan -m - --json --tokens 100 --memory 1GiB");
  EXPECT_EQ(json::parse(piped.out, nullptr, false), plan) << piped.err;
  const CliResult table = home.Run({"plan", "-m", path, "--tokens", "100"});
  EXPECT_THAT(table.out, HasSubstr("assumed"));
  EXPECT_EQ(home.Run({"plan", "-m", path, "--tokens", "100", "--policy", "ours"}).status, 2);
  EXPECT_EQ(home.Run({"plan", "-m", path, home.Write("doc.txt", "text")}).status, 2);
}

// Layers of the hybrid's first kind have no query heads: the formula names those of the others.
TEST(PlanCommand, EveryFormulaOfAHybridHasItsNumbers) {
  const CliFolder home;
  const CliResult result =
      home.Run({"plan", "-m", "qwen3.5-27b", "--tokens", "1000", "--memory", "100GB", "--explain"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("48 linear: a state of 3207168 B; 16 full: 4 kv heads, 256 + 256"));
  EXPECT_THAT(result.out, HasSubstr("24 q heads, 256 + 256"));
}

// As stored in the file, and no workspace.
TEST(PlanCommand, TheFormulaOfAModelThatRunsHere) {
  const CliFolder home;
  const json plan = PlanOf(home, TinyModel(home), {"--tokens", "100", "--policy", "formula"}, 0);
  EXPECT_EQ(plan.at("memory").at("workspace_bytes"), 0);
  EXPECT_EQ(plan.at("kv_bytes").get<int64_t>(), plan.at("kv_bytes_per_token").get<int64_t>() * (100 + 256));
}

TEST(ModelsCommand, ListsWhatIsKnownByName) {
  const CliFolder home;
  const CliResult table = home.Run({"models", "known"});
  EXPECT_THAT(table.out, HasSubstr("llama-3.1-8b"));
  const json known = json::parse(home.Run({"models", "known", "--json"}).out);
  EXPECT_GE(known.at("models").size(), 50u);
}

}  // namespace
}  // namespace attend
