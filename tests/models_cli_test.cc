// attend models and attend models verify, as a user sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "formats/gguf_test_builder.h"
#include "tests/cli_util.h"

namespace attend {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TinyLlama;

constexpr const char* kOwnFolder = ".cache/attend/models/";

std::string Own(const char* name) {
  return std::string(kOwnFolder) + name;
}

TEST(ModelsCommand, WithoutModelsItSaysHowToFetchOne) {
  const CliFolder home;
  const CliResult result = home.Run({"models"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr("tools/fetch-model"));
}

TEST(ModelsCommand, ListsWhatRunsAndWhyTheRestDoesNot) {
  const CliFolder home;
  home.Write(Own("good.gguf"), TinyLlama().Build());
  home.Write(Own("other.gguf"), TinyLlama().String("general.architecture", "mamba").Build());
  home.Write(Own("text.gguf"), std::string("no model at all"));
  const CliResult result = home.Run({"models"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::ContainsRegex("good +[0-9.]+ KiB +llama +attend +runs\n"));
  EXPECT_THAT(result.out,
              ::testing::ContainsRegex("other .* mamba +attend +does not: .*mamba.*\\[unsupported_architecture\\]"));
  EXPECT_THAT(result.out, ::testing::ContainsRegex("text .* - +attend +does not: .*\\[gguf_bad_magic\\]"));
}

TEST(ModelsCommand, JsonHasSchemaVersionAndEveryModel) {
  const CliFolder home;
  const std::string path = home.Write(Own("good.gguf"), TinyLlama().Build());
  home.Write("extra/b\xff\x1b.gguf", std::string("x"));
  const CliResult result = home.Run({"models", "--json"}, {{"ATTEND_MODEL_PATH", home.Path("extra")}});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("schema"), "attend.models");
  EXPECT_EQ(json.at("version"), 1);
  ASSERT_EQ(json.at("models").size(), 2u);
  const auto& bad = json.at("models").at(0);
  EXPECT_EQ(bad.at("name"), "b\\xff\\x1b");
  EXPECT_EQ(bad.at("source"), "path");
  EXPECT_EQ(bad.at("runs"), false);
  EXPECT_EQ(bad.at("code"), "gguf_truncated");
  const auto& good = json.at("models").at(1);
  EXPECT_EQ(good.at("path"), path);
  EXPECT_EQ(good.at("architecture"), "llama");
  EXPECT_EQ(good.at("runs"), true);
}

TEST(ModelsCommand, CachesOfOtherToolsAreFoundByTheirVariables) {
  const CliFolder home;
  const auto model = TinyLlama().Build();
  home.Write("hub/models--o--a/snapshots/r/a.gguf", model);
  home.Write("hf/hub/models--o--b/snapshots/r/b.gguf", model);
  home.Write("cpp/c.gguf", model);
  home.Write("cache/llama.cpp/d.gguf", model);
  const auto names = [&](const std::vector<std::pair<std::string, std::string>>& environment) {
    std::vector<std::string> found;
    const auto json = nlohmann::json::parse(home.Run({"models", "--json"}, environment).out);
    for (const auto& entry : json.at("models")) found.push_back(entry.at("name"));
    return found;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(names({{"HF_HUB_CACHE", home.Path("hub")}}), ElementsAre("a"));
  EXPECT_THAT(names({{"HF_HOME", home.Path("hf")}}), ElementsAre("b"));
  EXPECT_THAT(names({{"LLAMA_CACHE", home.Path("cpp")}}), ElementsAre("c"));
  EXPECT_THAT(names({{"XDG_CACHE_HOME", home.Path("cache")}}), ElementsAre("d"));
}

TEST(ModelsVerify, SoundWeightsPass) {
  const CliFolder home;
  home.Write(Own("good.gguf"), TinyLlama().Build());
  const CliResult result = home.Run({"models", "verify", "good"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("1 layers"));
  const auto json = nlohmann::json::parse(home.Run({"models", "verify", "good", "--json"}).out);
  EXPECT_EQ(json.at("finite"), true);
}

TEST(ModelsVerify, NanAndInfinityAreNamedWithExit3) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const CliFolder home;
    auto builder = TinyLlama();
    std::memcpy(builder.Find("blk.0.attn_k.weight").data.data() + 4 * 5, &value, sizeof(value));
    home.Write(Own("bad.gguf"), builder.Build());
    const CliResult result = home.Run({"models", "verify", "bad"});
    EXPECT_EQ(result.status, 3);
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, HasSubstr("layer 0 key"));
    EXPECT_THAT(result.err, HasSubstr("[model_nonfinite]"));
  }
}

TEST(ModelsVerify, WhatIsNoModelIsRefusedWithItsCode) {
  const CliFolder home;
  home.Write(Own("a.gguf"), std::string("text, no model"));
  const std::pair<std::string, std::pair<int, const char*>> cases[] = {
      {"a", {3, "[gguf_bad_magic]"}},
      {"zzz", {4, "[model_not_found]"}},
      {home.Path("gone.gguf"), {3, "[file_not_found]"}},
      {"/dev/null", {3, "[file_not_regular]"}}};
  for (const auto& [name, wanted] : cases) {
    const CliResult result = home.Run({"models", "verify", name});
    EXPECT_EQ(result.status, wanted.first) << name << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr(wanted.second)) << name;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

TEST(ModelsVerify, WithoutANameItIsUsage) {
  const CliFolder home;
  EXPECT_EQ(home.Run({"models", "verify"}).status, 2);
}

}  // namespace
}  // namespace attend
