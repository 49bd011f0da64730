// Planning reads a model's header and never its weights: what of the file is in memory afterwards says so.
#include <gtest/gtest.h>

#include <filesystem>

#include "measure/disk.h"
#include "tests/cli_util.h"
#include "tests/golden_util.h"

namespace attend {
namespace {

TEST(PlanReads, AHeaderAndNoWeights) {
  ATTEND_NEEDS_REAL_MODEL(model);
  const CliFolder home;
  const std::string copy = home.Path("model.gguf");
  std::filesystem::copy_file(model, copy);
  const std::vector<std::string> plan = {"plan", "-m", copy, "--tokens", "1000", "--memory", "2GiB", "--json"};
  ASSERT_EQ(home.Run(plan).status, 0);  // measures the machine, once
  ASSERT_TRUE(DropFromMemory(copy));
  const auto before = BytesInMemory(copy);
  ASSERT_TRUE(before) << Describe(before.error());
  if (*before > 0) GTEST_SKIP() << "no disk below this folder: the system keeps its files in memory";
  ASSERT_EQ(home.Run(plan).status, 0);
  // 2 MB of header; what the system reads ahead of a page is the rest.
  const uint64_t held = *BytesInMemory(copy), size = std::filesystem::file_size(copy);
  EXPECT_GT(held, 0u);
  EXPECT_LT(held, size / 8) << held << " of " << size << " bytes";
}

}  // namespace
}  // namespace attend
