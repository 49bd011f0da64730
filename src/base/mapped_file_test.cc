#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace attend {
namespace {

class MappedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "attend_mapped_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
    return Path(name);
  }
  void ExpectRefused(const std::string& path, ErrorCode code) const {
    const auto file = MappedFile::Open(path);
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.error().code, code) << Describe(file.error());
    EXPECT_EQ(file.error().where, path);
    const auto text = ReadTextFile(path, 1000);
    ASSERT_FALSE(text) << path;
    EXPECT_EQ(text.error().code, code) << Describe(text.error());
  }

  std::string folder_;
};

TEST_F(MappedFileTest, BytesAreTheFiles) {
  const std::string text("attend\0\xff bytes", 14);
  const auto file = MappedFile::Open(Write("a", text));
  ASSERT_TRUE(file) << Describe(file.error());
  EXPECT_EQ(std::string(file->bytes().begin(), file->bytes().end()), text);
  EXPECT_EQ(file->path(), Path("a"));
  EXPECT_TRUE(file->CheckUnchanged());
  file->Release(0, 1000000);
  EXPECT_EQ(file->bytes()[0], 'a');
}

TEST_F(MappedFileTest, WhatIsNoRegularFileWithContentIsRefused) {
  ExpectRefused(Path("missing"), ErrorCode::kFileNotFound);
  ExpectRefused(Path("missing/below"), ErrorCode::kFileNotFound);
  ExpectRefused(Write("file", "x") + "/below", ErrorCode::kFileNotFound);
  ExpectRefused(folder_, ErrorCode::kFileIsDirectory);
  ExpectRefused("/dev/zero", ErrorCode::kFileNotRegular);
  ExpectRefused(Write("empty", ""), ErrorCode::kFileEmpty);
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  ExpectRefused(Path("pipe"), ErrorCode::kFileNotRegular);  // and does not wait for a writer
}

TEST_F(MappedFileTest, AFileWithoutPermissionIsUnreadable) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  const std::string path = Write("secret", "x");
  chmod(path.c_str(), 0);
  ExpectRefused(path, ErrorCode::kFileUnreadable);
}

TEST_F(MappedFileTest, AFileThatChangesIsNoticed) {
  const auto expect_changed = [&](const std::string& name, auto&& change) {
    const std::string path = Write(name, std::string(10000, 'x'));
    const auto file = MappedFile::Open(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->CheckUnchanged());
    change(path);
    const auto unchanged = file->CheckUnchanged();
    ASSERT_FALSE(unchanged) << name;
    EXPECT_EQ(unchanged.error().code, ErrorCode::kFileChanged) << name;
  };
  expect_changed("shrinks", [](const std::string& path) { std::filesystem::resize_file(path, 100); });
  expect_changed("emptied", [](const std::string& path) { std::filesystem::resize_file(path, 0); });
  expect_changed("grows", [](const std::string& path) { std::filesystem::resize_file(path, 20000); });
  expect_changed("removed", [](const std::string& path) { std::filesystem::remove(path); });
  expect_changed("touched", [](const std::string& path) {
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(5));
  });
}

TEST_F(MappedFileTest, MovesKeepTheMapping) {
  auto first = MappedFile::Open(Write("a", "first"));
  auto second = MappedFile::Open(Write("b", "second"));
  MappedFile file = std::move(*first);
  EXPECT_EQ(file.bytes().size(), 5u);
  file = std::move(*second);
  EXPECT_EQ(std::string(file.bytes().begin(), file.bytes().end()), "second");
}

TEST_F(MappedFileTest, ReadTextFileHasALimit) {
  const std::string text(100000, 'y');
  EXPECT_EQ(*ReadTextFile(Write("t", text), 100000), text);
  const auto longer = ReadTextFile(Path("t"), 99999);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, ErrorCode::kFileUnreadable);
}

}  // namespace
}  // namespace attend
