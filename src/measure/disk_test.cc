#include "measure/disk.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

namespace attend {
namespace {

namespace fs = std::filesystem;

class DiskTest : public ::testing::Test {
 protected:
  DiskTest() {
    std::string pattern = (fs::temp_directory_path() / "attend-disk-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~DiskTest() override { fs::remove_all(folder_); }

  std::string folder_;
};

// Where the folder is in memory there is no rate, and that is said.
TEST_F(DiskTest, ATemporaryFileIsReadAndRemoved) {
  const auto rate = MeasureDiskReadIn(folder_, 3 << 20);
  ASSERT_TRUE(rate) << Describe(rate.error());
  if (*rate) {
    EXPECT_GT(**rate, 1e5);
    EXPECT_LT(**rate, 1e12);
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(DiskTest, WhatCannotBeReadOrWrittenIsAnError) {
  EXPECT_EQ(MeasureDiskRead(folder_ + "/none").error().code, ErrorCode::kFileNotFound);
  EXPECT_EQ(MeasureDiskRead(folder_).error().code, ErrorCode::kFileIsDirectory);
  EXPECT_EQ(MeasureDiskReadIn(folder_ + "/none", 4096).error().code, ErrorCode::kFileUnwritable);
}

TEST_F(DiskTest, AFileInMemoryHasNoRateOfADisk) {
  if (access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no file system in memory that may be written to: /dev/shm";
  const auto rate = MeasureDiskReadIn("/dev/shm", 1 << 20);
  ASSERT_TRUE(rate) << Describe(rate.error());
  EXPECT_FALSE(rate->has_value());
}

}  // namespace
}  // namespace attend
