// attend plan beside the one table: policies, devices, sweeps, pictures, command lines, the worked case and --verify.
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

std::vector<std::string> Llama(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"plan", "-m", "llama-3.1-8b", "--tokens", "128000", "--device", "a100-40gb"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

json JsonOf(const CliResult& result) {
  json parsed = json::parse(result.out, nullptr, false);
  EXPECT_FALSE(parsed.is_discarded()) << result.out << result.err;
  return parsed;
}

TEST(PlanModes, PoliciesSideBySide) {
  const CliFolder home;
  const json all = JsonOf(home.Run(Llama({"--policy", "all", "--json"})));
  EXPECT_EQ(all.at("schema"), "attend.plan.policies");
  EXPECT_EQ(all.at("plans").size(), 5u);
  EXPECT_THAT(all.at("absent")[0].get<std::string>(), HasSubstr("ours"));
  const CliResult oss =
      home.Run({"plan", "-m", "gpt-oss-120b", "--tokens", "1000", "--memory", "300GB", "--policy", "all"});
  EXPECT_THAT(oss.out, HasSubstr("36,864 B once every window is full, 73,728 B before"));
}

// A cache by a name that only some of the runtimes have.
TEST(PlanModes, SideBySideEachSaysWhetherItHasTheCache) {
  const CliFolder home;
  const std::string model = home.Write("tiny.gguf", testing::TinyLlama().Uint32("llama.context_length", 1024).Build());
  const json all = JsonOf(home.Run(
      {"plan", "-m", model, "--tokens", "9", "--memory", "1GiB", "--policy", "all", "--kv", "q8_0", "--json"}));
  ASSERT_EQ(all.at("plans").size(), 2u);
  EXPECT_EQ(all.at("plans")[0].at("policy"), "formula");
  EXPECT_EQ(all.at("plans")[1].at("policy"), "llama.cpp");
  EXPECT_TRUE(all.at("plans")[1].at("times").is_null());
  EXPECT_EQ(all.at("absent").size(), 4u);
  const CliResult emitted =
      home.Run({"plan", "-m", model, "--tokens", "9", "--memory", "1GiB", "--emit", "llama.cpp", "--kv", "q8_0"});
  EXPECT_THAT(emitted.out, HasSubstr("-ctk q8_0"));
}

TEST(PlanModes, ACacheThatNoPolicyHasIsWrongUse) {
  const CliFolder home;
  for (const char* kv : {"nonsense", "q4/32"}) {
    const CliResult result = home.Run(Llama({"--policy", "all", "--kv", kv}));
    EXPECT_EQ(result.status, 2) << kv;
    EXPECT_THAT(result.err, HasSubstr("--kv"));
    EXPECT_EQ(result.out, "");
  }
}

TEST(PlanModes, OursIsRefusedOnACardWithThePoliciesThatApply) {
  const CliFolder home;
  const CliResult result = home.Run(Llama({"--policy", "ours"}));
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("formula, llama.cpp, vllm, hf-eager, hf-sdpa"));
}

TEST(PlanModes, ACacheThatTheRuntimeLacksIsNamed) {
  const CliFolder home;
  const CliResult result = home.Run(Llama({"--policy", "vllm", "--kv", "q4_0"}));
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("fp8"));
}

TEST(PlanModes, ADeviceGivesMemoryAndTime) {
  const CliFolder home;
  const json plan = JsonOf(home.Run(Llama({"--json", "--rounds", "3", "--concurrent", "2", "--rate", "10",
                                           "--price-per-hour", "2", "--review-minutes", "30"})));
  EXPECT_EQ(plan.at("memory").at("limit_bytes"), 40'000'000'000);
  EXPECT_EQ(plan.at("verdict"), "pieces");
  EXPECT_EQ(plan.at("review_minutes"), 30);
  EXPECT_GT(plan.at("times").at("anew_s").at("expected"), plan.at("times").at("total_s").at("expected"));
  EXPECT_GT(plan.at("capacity").at("price_per_document"), 0);
  EXPECT_GT(plan.at("capacity").at("first_token_p95_s"), 0);
  const CliResult table = home.Run(Llama({"--rounds", "3", "--rate", "10"}));
  EXPECT_THAT(table.out, HasSubstr("documents an hour"));
  EXPECT_THAT(table.out, HasSubstr("GB)"));
}

TEST(PlanModes, SeveralDevicesShareWeightsAndTalk) {
  const CliFolder home;
  const json one = JsonOf(home.Run(Llama({"--json"}))),
             four = JsonOf(home.Run(Llama({"--json", "--num-devices", "4"})));
  EXPECT_EQ(four.at("verdict"), "one_pass");
  EXPECT_NEAR(four.at("memory").at("weights_bytes").get<double>() * 4,
              one.at("memory").at("weights_bytes").get<double>(), 4);
  EXPECT_GT(four.at("times").at("traffic_s"), 0);
}

TEST(PlanModes, ASweepIsCsv) {
  const CliFolder home;
  const CliResult result = home.Run({"plan", "-m", "llama-3.1-8b", "--device", "a100-40gb", "--sweep", "1000..8000"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 5);  // 1000, 2000, 4000, 8000 and the head
  EXPECT_THAT(result.out, HasSubstr("\n4000,one_pass,none,1,4000,"));
  for (const char* wrong : {"", "0", "5..1", "1,,2", "a", "1..", "1,2,"}) {
    EXPECT_EQ(home.Run({"plan", "-m", "llama-3.1-8b", "--tokens", "5", "--memory", "1GB", "--sweep", wrong}).status,
              *wrong == '\0' ? 1 : 2)
        << wrong;
  }
}

TEST(PlanModes, APlotMarksTheCliffs) {
  const CliFolder home;
  const std::string path = home.Path("out.svg");
  ASSERT_EQ(home.Run(Llama({"--plot", path, "--memory", "25GB"})).status, 0);
  std::ifstream file(path);
  const std::string svg((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_THAT(svg, ::testing::StartsWith("<svg"));
  EXPECT_NE(svg.find("pieces: memory"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(home.Run(Llama({"--plot", home.Path("out.gif")})).status, 2);
  EXPECT_NE(home.Run(Llama({"--plot", home.Path("no/such/folder/out.svg")})).status, 0);
}

TEST(PlanModes, CommandLinesOfOtherRuntimes) {
  const CliFolder home;
  const CliResult llama = home.Run(Llama({"--emit", "llama.cpp", "--kv", "q8"}));
  EXPECT_EQ(llama.status, 0) << llama.err;
  EXPECT_EQ(llama.out, "llama-server -m llama-3.1-8b -c 128256 -np 1 -ub 512 -fa on -ctk q8_0 -ctv q8_0\n");
  const CliResult vllm = home.Run(Llama({"--emit", "vllm", "--num-devices", "2"}));
  EXPECT_THAT(vllm.out, HasSubstr("--max-model-len 128256 --max-num-seqs 1"));
  EXPECT_THAT(vllm.out, HasSubstr("--tensor-parallel-size 2 --gpu-memory-utilization 0.90"));
  EXPECT_EQ(home.Run(Llama({"--emit", "vllm", "--memory", "1GB"})).out, "");
}

TEST(PlanModes, MarkdownIsATable) {
  const CliFolder home;
  const CliResult result = home.Run(Llama({"--markdown", "--explain"}));
  EXPECT_THAT(result.out, ::testing::StartsWith("## Fits in "));
  EXPECT_THAT(result.out, HasSubstr("| KV cache | "));
  EXPECT_THAT(result.out, HasSubstr("| kv_bytes_per_token | "));
}

TEST(PlanModes, TheLawFirm) {
  const CliFolder home;
  const CliResult table = home.Run({"plan", "--scenario", "law-firm"});
  EXPECT_EQ(table.status, 0);
  EXPECT_THAT(table.out, HasSubstr("20.97 GB / 104.9 GB"));
  EXPECT_THAT(table.out, HasSubstr("80 GB card: Fits in one pass, 47.0 GB"));
  EXPECT_THAT(table.out, HasSubstr("Fits in 8 pieces of 16,000 tokens"));
  EXPECT_THAT(table.out, HasSubstr("Fits in 3 pieces of 42,667 tokens"));
  const json all = JsonOf(home.Run({"plan", "--scenario", "law-firm", "--json"}));
  EXPECT_EQ(all.at("decisions").size(), 3u);
}

TEST(PlanModes, VerifyComparesAndRemembers) {
  const CliFolder home;
  const std::string model = home.Write("tiny.gguf", testing::TinyLlama().Uint32("llama.context_length", 1024).Build());
  const std::string document = home.Write("a.txt", std::string(300, 'a'));
  const std::vector<std::string> verify = {"plan", document, "-m", model,      "--verify", "--question-tokens",
                                           "4",    "-n",     "8",  "--memory", "2GiB",     "--json"};
  for (int run = 1; run <= 3; ++run) {
    const CliResult result = home.Run(verify);
    ASSERT_EQ(result.status, 0) << result.err;
    const json compared = JsonOf(result);
    EXPECT_EQ(compared.at("num_runs"), run);
    for (const char* part : {"memory_bytes", "prefill_s", "decode_s"})
      EXPECT_GT(compared.at(part).at("measured"), 0) << part;
    EXPECT_EQ(compared.at("next_spread").at("low") == 0.8, run < 3);
  }
  EXPECT_EQ(home.Run({"plan", "-m", model, "--tokens", "5", "--verify"}).status, 2);
  EXPECT_EQ(home.Run({"plan", document, "-m", model, "--tokens", "100000", "--verify"}).status, 2);
}

}  // namespace
}  // namespace attend
