// attend devices, as a user sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli_util.h"

namespace attend {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kOwnCard = R"({
  "name": "anything", "kind": "gpu",
  "memory": {"figure": "12 GiB", "source": "the box"},
  "bandwidth": {"figure": "360 GB/s", "source": "the box"},
  "peak": {"f16": {"figure": "51 TFLOP/s", "source": "the box"}}
})";

std::string OwnDevice(const CliFolder& home, const char* name, const std::string& text) {
  return home.Write(std::string(".config/attend/devices/") + name, text);
}

TEST(DevicesCommand, ListsThisMachineFirstThenOwnThenPresets) {
  const CliFolder home;
  OwnDevice(home, "own-card.json", kOwnCard);
  for (const auto& command : {std::vector<std::string>{"devices"}, {"devices", "list"}}) {
    const CliResult result = home.Run(command);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, ContainsRegex("^name .*\n"
                                          "this machine +.* of .* free +- +- +not measured: .*--measure\n"
                                          "own-card +12 GiB +360 GB/s +51 TFLOP/s \\(f16\\) +stated\n"
                                          "a100-40gb +40 GB +1555 GB/s +312 TFLOP/s +stated\n"));
    EXPECT_THAT(result.err, IsEmpty());
  }
}

TEST(DevicesCommand, JsonHasSchemaVersionAndEveryFigure) {
  const CliFolder home;
  OwnDevice(home, "own-card.json", kOwnCard);
  OwnDevice(home, "broken.json", "{}");
  const CliResult result = home.Run({"devices", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("schema"), "attend.devices");
  EXPECT_EQ(json.at("version"), 1);
  const auto& here = json.at("devices").at(0);
  EXPECT_EQ(here.at("name"), "this-machine");
  EXPECT_EQ(here.at("basis"), "none");
  EXPECT_GT(here.at("memory_bytes"), here.at("available_memory_bytes"));
  const auto& broken = json.at("devices").at(1);
  EXPECT_EQ(broken.at("name"), "broken");
  EXPECT_EQ(broken.at("code"), "device_bad");
  const auto& own = json.at("devices").at(2);
  EXPECT_EQ(own.at("name"), "own-card");
  EXPECT_EQ(own.at("origin"), "user");
  EXPECT_EQ(own.at("basis"), "stated");
  EXPECT_EQ(own.at("memory_bytes"), uint64_t{12} << 30);
  EXPECT_EQ(own.at("peak_flops_per_s").at("f16"), 51e12);
  EXPECT_EQ(own.at("figures").at(0).at("source"), "the box");
}

TEST(DevicesShow, EveryFigureHasItsSource) {
  const CliFolder home;
  const CliResult result = home.Run({"devices", "show", "A100-80GB"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("a100-80gb: gpu, stated\n"));
  EXPECT_THAT(result.out, ContainsRegex("memory +80 GB  NVIDIA A100 datasheet"));
  EXPECT_THAT(result.out, ContainsRegex("peak.int8 +624 TOP/s  NVIDIA A100 datasheet"));
  EXPECT_THAT(result.out, ContainsRegex("efficiency.linear +60 %  assumed: "));
  const auto json = nlohmann::json::parse(home.Run({"devices", "show", "a100-80gb", "--json"}).out);
  EXPECT_EQ(json.at("schema"), "attend.devices");
  ASSERT_EQ(json.at("devices").size(), 1u);
  EXPECT_EQ(json.at("devices").at(0).at("memory_bytes"), 80'000'000'000);
  EXPECT_EQ(json.at("devices").at(0).at("figures").at(0).at("figure"), "80 GB");
}

TEST(DevicesShow, OwnDevicesFilesAndStandardInput) {
  const CliFolder home;
  const std::string path = OwnDevice(home, "l4.json", kOwnCard);
  EXPECT_THAT(home.Run({"devices", "show", "L4"}).out, HasSubstr("12 GiB")) << "one's own hides the preset";
  EXPECT_THAT(home.Run({"devices", "show", path}).out, HasSubstr("anything: gpu"));
  EXPECT_THAT(home.RunScript("\"$ATTEND\" devices show - <" + path).out, HasSubstr("anything: gpu"));
  const CliResult elsewhere = home.Run({"devices", "show", "l4"}, {{"XDG_CONFIG_HOME", home.Path("none")}});
  EXPECT_THAT(elsewhere.out, HasSubstr("24 GB"));
}

TEST(DevicesShow, WhatIsNoDeviceIsRefusedWithItsCode) {
  const CliFolder home;
  const std::string typo = home.Write("typo.json", std::string(R"({"name": "x", "bandwith": 1})"));
  const std::string hostile = home.Write("hostile.json", std::string(R"({"name": "\u001b[2J"})"));
  const std::pair<std::string, std::pair<int, const char*>> cases[] = {
      {"h300", {4, "one of a100-40gb, "}},
      {"this-machine", {4, "[device_not_found]; attend devices --measure"}},
      {home.Path("gone.json"), {3, "[file_not_found]"}},
      {home.Write("cut.json", std::string("{")), {3, "[json_bad]"}},
      {typo, {3, "key 'bandwith'"}},
      {hostile, {3, "[device_bad]"}}};
  for (const auto& [name, wanted] : cases) {
    const CliResult result = home.Run({"devices", "show", name});
    EXPECT_EQ(result.status, wanted.first) << name << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr(wanted.second)) << name;
    EXPECT_THAT(result.out, IsEmpty()) << name;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.err.find('\x1b'), std::string::npos) << name;
  }
  EXPECT_EQ(home.Run({"devices", "show"}).status, 2);
  EXPECT_EQ(home.Run({"devices", "--measure", "list"}).status, 2);
}

TEST(DevicesMeasure, KeepsThisMachineAsADeviceLikeAnyOther) {
  const CliFolder home;
  const CliResult measured = home.Run({"devices", "--measure", "-t", "1"});
  ASSERT_EQ(measured.status, 0) << measured.err;
  const std::string path = home.Path(".cache/attend/devices/this-machine.json");
  EXPECT_THAT(measured.err, HasSubstr("kept in " + path));
  EXPECT_THAT(measured.out, ContainsRegex("bandwidth +[0-9.]+ [GM]B/s  measured 20[0-9-]+ by attend devices "
                                          "--measure: [a-z0-9_]+, 1 threads"));
  EXPECT_THAT(home.Run({"devices", "show", path}).out, measured.out) << "the file is a profile";
  EXPECT_THAT(home.Run({"devices", "show", "this-machine"}).out, measured.out);
  EXPECT_THAT(home.Run({"devices"}).out, ContainsRegex("this machine .* free .* [GM]B/s .* [GM]FLOP/s +measured\n"));
  const auto json = nlohmann::json::parse(home.Run({"devices", "--json"}).out);
  EXPECT_EQ(json.at("devices").at(0).at("basis"), "measured");
  EXPECT_GT(json.at("devices").at(0).at("peak_flops_per_s").at("bf16"), 1e6);
}

TEST(DevicesMeasure, WithoutAPlaceOrAModelThatWasNamedItIsAnError) {
  const CliFolder home;
  const CliResult nowhere = home.RunScript("env -u HOME \"$ATTEND\" devices --measure");
  EXPECT_EQ(nowhere.status, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("XDG_CACHE_HOME"));
  home.Write("file", std::string("no folder"));
  const CliResult unwritable = home.Run({"devices", "--measure"}, {{"XDG_CACHE_HOME", home.Path("file")}});
  EXPECT_EQ(unwritable.status, 5);
  EXPECT_THAT(unwritable.err, HasSubstr("[file_unwritable]"));
  const CliResult no_model = home.Run({"devices", "--measure", "-m", "zzz"});
  EXPECT_EQ(no_model.status, 4);
  EXPECT_THAT(no_model.err, HasSubstr("[model_not_found]"));
}

}  // namespace
}  // namespace attend
