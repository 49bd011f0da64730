// Planning reads a model's header and never its weights: what of the file is in memory afterwards says so.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/mapped_file.h"
#include "tests/cli_util.h"
#include "tests/golden_util.h"

namespace attend {
namespace {

// Asks the system to drop what it holds of a file; a file that was just written goes to the disk first.
void DropFromMemory(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_EQ(fsync(file), 0);
  EXPECT_EQ(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), 0);
  close(file);
}

uint64_t BytesInMemory(const std::string& path) {
  const auto file = MappedFile::Open(path);
  if (!file) return UINT64_MAX;
  const size_t page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((file->bytes().size() + page_bytes - 1) / page_bytes);
  if (mincore(const_cast<uint8_t*>(file->bytes().data()), file->bytes().size(), pages.data()) != 0) return UINT64_MAX;
  const auto is_held = [](unsigned char page) { return (page & 1) != 0; };
  return static_cast<uint64_t>(std::count_if(pages.begin(), pages.end(), is_held)) * page_bytes;
}

TEST(PlanReads, AHeaderAndNoWeights) {
  ATTEND_NEEDS_REAL_MODEL(model);
  const CliFolder home;
  const std::string copy = home.Path("model.gguf");
  std::filesystem::copy_file(model, copy);
  const std::vector<std::string> plan = {"plan", "-m", copy, "--tokens", "1000", "--memory", "2GiB", "--json"};
  ASSERT_EQ(home.Run(plan).status, 0);  // measures the machine, once
  DropFromMemory(copy);
  if (BytesInMemory(copy) > 0) GTEST_SKIP() << "the system keeps this folder's files in memory";
  ASSERT_EQ(home.Run(plan).status, 0);
  // 2 MB of header; what the system reads ahead of a page is the rest.
  const uint64_t held = BytesInMemory(copy), size = std::filesystem::file_size(copy);
  EXPECT_GT(held, 0u);
  EXPECT_LT(held, size / 8) << held << " of " << size << " bytes";
}

}  // namespace
}  // namespace attend
