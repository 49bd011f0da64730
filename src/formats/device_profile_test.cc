#include "formats/device_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace attend {
namespace {

using ::testing::HasSubstr;

nlohmann::json Figure(const char* figure) {
  return {{"figure", figure}, {"source", "a test"}};
}

nlohmann::json Card() {
  return {{"name", "card"},
          {"kind", "gpu"},
          {"memory", Figure("80 GB")},
          {"bandwidth", Figure("2 TB/s")},
          {"peak", {{"bf16", Figure("100 TFLOP/s")}}}};
}

Result<DeviceProfile> Read(const nlohmann::json& json) {
  return ReadDeviceProfile(json.dump(), "device.json");
}

std::string ErrorOf(const nlohmann::json& json) {
  const auto result = Read(json);
  return result ? "no error" : Describe(result.error());
}

TEST(DeviceProfile, EveryPresetIsADevice) {
  EXPECT_GE(DevicePresets().size(), 15u);
  for (const DevicePreset& preset : DevicePresets()) {
    const auto device = ReadDeviceProfile(preset.json, std::string(preset.name));
    ASSERT_TRUE(device) << Describe(device.error());
    EXPECT_EQ(device->name, preset.name);
    EXPECT_GE(device->memory_bytes, 8e9) << preset.name;
    EXPECT_LE(device->memory_bytes, 2e12) << preset.name;
    EXPECT_GE(device->bandwidth_bytes_per_s, 5e10) << preset.name;
    EXPECT_LE(device->bandwidth_bytes_per_s, 1e13) << preset.name;
    // No device reads a byte in the time of fewer than 5 products, nor more than 1000.
    const double intensity = device->PeakFor(Compute::kBf16) / device->bandwidth_bytes_per_s;
    EXPECT_GE(intensity, 5) << preset.name;
    EXPECT_LE(intensity, 1000) << preset.name;
    EXPECT_LE(device->PeakFor(Compute::kF32), device->PeakFor(Compute::kBf16)) << preset.name;
    EXPECT_GE(device->PeakFor(Compute::kInt8), device->PeakFor(Compute::kBf16)) << preset.name;
    EXPECT_EQ(device->is_cpu, device->cores > 0) << preset.name;
    EXPECT_FALSE(device->IsMeasured()) << preset.name;
    EXPECT_EQ(FindDevicePreset(preset.name), &preset);
  }
  EXPECT_NE(FindDevicePreset("H200"), nullptr);
  EXPECT_EQ(FindDevicePreset("h20"), nullptr);
}

TEST(DeviceProfile, TheCardOfTheLawFirm) {
  const auto card = ReadDeviceProfile(FindDevicePreset("law-firm-card-80gb")->json, "card");
  ASSERT_TRUE(card) << Describe(card.error());
  EXPECT_EQ(card->memory_bytes, 80'000'000'000u);
  const Calibration speeds = SpeedsOf(*card, Compute::kBf16);
  EXPECT_EQ(speeds.linear_flops_per_s, 100e12);
  EXPECT_EQ(speeds.attention_flops_per_s, 100e12);
  EXPECT_EQ(speeds.weight_bytes_per_s, 2e12);
  EXPECT_EQ(speeds.kv_bytes_per_s, 2e12);
  EXPECT_EQ(speeds.element_s_per_token, 0);
}

TEST(DeviceProfile, FiguresAreKeptAsWritten) {
  nlohmann::json json = Card();
  json["link"] = Figure("600 GB/s");
  json["disk"] = Figure("7 GB/s");
  json["memory"] = Figure("64 GiB");
  const auto device = Read(json);
  ASSERT_TRUE(device) << Describe(device.error());
  EXPECT_EQ(device->memory_bytes, uint64_t{64} << 30);
  EXPECT_EQ(device->link_bytes_per_s, 600e9);
  EXPECT_EQ(device->disk_bytes_per_s, 7e9);
  ASSERT_NE(device->Find("peak.bf16"), nullptr);
  EXPECT_EQ(device->Find("peak.bf16")->figure, "100 TFLOP/s");
  EXPECT_EQ(device->Find("peak.bf16")->source, "a test");
  EXPECT_EQ(device->Find("peak.bf16")->value, 100e12);
  EXPECT_EQ(device->Find("peak.f16"), nullptr);
}

TEST(DeviceProfile, APeakThatIsNotStatedFallsBackToAWiderOneOnly) {
  nlohmann::json json = Card();
  json["peak"] = {{"f16", Figure("3 TFLOP/s")}, {"f32", Figure("1 TFLOP/s")}};
  EXPECT_EQ(Read(json)->PeakFor(Compute::kBf16), 3e12);
  EXPECT_EQ(Read(json)->PeakFor(Compute::kInt8), 3e12);
  EXPECT_EQ(Read(json)->PeakFor(Compute::kF32), 1e12);
  json["peak"]["int8"] = Figure("6 TOP/s");
  EXPECT_EQ(Read(json)->PeakFor(Compute::kInt8), 6e12);
  json["peak"].erase("f16");
  EXPECT_EQ(Read(json)->PeakFor(Compute::kBf16), 1e12);
  EXPECT_EQ(Read(Card())->PeakFor(Compute::kF32), 0) << "nothing says how fast it is";
}

TEST(DeviceProfile, SpeedsArePeaksTimesWhatIsReached) {
  nlohmann::json json = Card();
  json["peak"]["int8"] = Figure("200 TOP/s");
  json["efficiency"] = {{"linear", Figure("50 %")}, {"attention", Figure("25 %")}, {"read", Figure("75 %")}};
  const auto device = Read(json);
  ASSERT_TRUE(device) << Describe(device.error());
  const Calibration bf16 = SpeedsOf(*device, Compute::kBf16);
  EXPECT_EQ(bf16.cpu_name, "card");
  EXPECT_EQ(bf16.compute, Compute::kBf16);
  EXPECT_EQ(bf16.linear_flops_per_s, 50e12);
  EXPECT_EQ(bf16.attention_flops_per_s, 25e12);
  EXPECT_EQ(bf16.weight_bytes_per_s, 1.5e12);
  const Calibration int8 = SpeedsOf(*device, Compute::kInt8);
  EXPECT_EQ(int8.linear_flops_per_s, 50e12) << "weights are multiplied in bf16";
  EXPECT_EQ(int8.attention_flops_per_s, 50e12);
  json.erase("efficiency");
  const auto without = Read(json);
  EXPECT_EQ(without->linear_efficiency, DeviceProfile{}.linear_efficiency);
  ASSERT_NE(without->Find("efficiency.linear"), nullptr);
  EXPECT_THAT(without->Find("efficiency.linear")->source, HasSubstr("assumed"));
}

TEST(DeviceProfile, ErrorsNameTheKey) {
  const auto with = [](const char* pointer, const nlohmann::json& value) {
    nlohmann::json json = Card();
    json[nlohmann::json::json_pointer(pointer)] = value;
    return ErrorOf(json);
  };
  EXPECT_EQ(with("/bandwidth/figure", "312 TFLOP/s"),
            "device.json: key 'bandwidth.figure': expected bytes per second such as '2 TB/s', found '312 TFLOP/s' "
            "[device_bad]");
  EXPECT_THAT(with("/bandwith", Figure("2 TB/s")), HasSubstr("key 'bandwith': expected one of name, kind"));
  EXPECT_THAT(with("/memory/surce", "x"), HasSubstr("key 'memory.surce'"));
  EXPECT_THAT(with("/peak/fp8", Figure("1 TFLOP/s")),
              HasSubstr("key 'peak.fp8': expected one of bf16, f16, f32, int8"));
  EXPECT_THAT(with("/efficiency/linaer", Figure("1 %")), HasSubstr("key 'efficiency.linaer'"));
  EXPECT_THAT(with("/memory/figure", "-80 GB"),
              HasSubstr("key 'memory.figure': expected 1 B to 1 PiB, found '-80 GB'"));
  EXPECT_THAT(with("/memory/figure", 80e9), HasSubstr("key 'memory.figure': expected bytes such as '80 GB'"));
  EXPECT_THAT(with("/memory", "80 GB"), HasSubstr("key 'memory': expected an object, found a value of type string"));
  EXPECT_THAT(with("/memory", nullptr), HasSubstr("key 'memory'"));
  EXPECT_THAT(with("/memory/source", ""), HasSubstr("key 'memory.source'"));
  EXPECT_THAT(with("/peak/bf16/figure", "1e30 FLOP/s"), HasSubstr("key 'peak.bf16.figure'"));
  EXPECT_THAT(with("/peak/int8", Figure("624 TFLOP/s")), HasSubstr("key 'peak.int8.figure'"));
  EXPECT_THAT(with("/peak", nlohmann::json::object()), HasSubstr("key 'peak': expected a peak of bf16, f16 or f32"));
  EXPECT_THAT(with("/peak", {{"int8", Figure("1 TOP/s")}}), HasSubstr("key 'peak'"));
  EXPECT_THAT(with("/peak", nlohmann::json::array()), HasSubstr("key 'peak': expected an object"));
  EXPECT_THAT(with("/efficiency", {{"read", Figure("120 %")}}), HasSubstr("key 'efficiency.read.figure'"));
  EXPECT_THAT(with("/efficiency", 1), HasSubstr("key 'efficiency': expected an object"));
  EXPECT_THAT(with("/link", Figure("0 GB/s")), HasSubstr("key 'link.figure'"));
  EXPECT_THAT(with("/kind", "tpu"), HasSubstr("key 'kind': expected gpu or cpu, found 'tpu'"));
  EXPECT_THAT(with("/cores", -4), HasSubstr("key 'cores'"));
  EXPECT_THAT(with("/cores", 2.5), HasSubstr("key 'cores'"));
  EXPECT_THAT(with("/name", ""), HasSubstr("key 'name'"));
}

TEST(DeviceProfile, WhatAPlanCannotDoWithoutIsAsked) {
  for (const char* key : {"name", "kind", "memory", "bandwidth", "peak"}) {
    nlohmann::json json = Card();
    json.erase(key);
    EXPECT_THAT(ErrorOf(json), HasSubstr(std::string("key '") + key + "'")) << key;
    EXPECT_THAT(ErrorOf(json), HasSubstr("no such key")) << key;
  }
  EXPECT_THAT(ErrorOf(nlohmann::json::array()), HasSubstr("expected an object"));
  const auto broken = ReadDeviceProfile("{", "device.json");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::kJsonBad);
}

}  // namespace
}  // namespace attend
