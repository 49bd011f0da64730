// The readers' bound on memory: no allocation above 4 x file size + 16 MiB, whatever counts a file announces.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "formats/gguf_test_cases.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "nlohmann/json.hpp"

namespace {
std::atomic<size_t> largest_allocation = 0;

void* Allocate(size_t size) {
  if (size > largest_allocation) largest_allocation = size;
  void* pointer = std::malloc(size);
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}
}  // namespace

void* operator new(size_t size) {
  return Allocate(size);
}
void* operator new[](size_t size) {
  return Allocate(size);
}
void operator delete(void* pointer) noexcept {
  std::free(pointer);
}
void operator delete[](void* pointer) noexcept {
  std::free(pointer);
}
void operator delete(void* pointer, size_t) noexcept {
  std::free(pointer);
}
void operator delete[](void* pointer, size_t) noexcept {
  std::free(pointer);
}

namespace attend {
namespace {

using testing::AppendValue;
using testing::Bytes;
using testing::GgufBuilder;
using testing::GgufCase;

template <typename Fn>
void ExpectModestMemory(size_t file_bytes, const std::string& what, Fn&& read) {
  largest_allocation = 0;
  read();
  EXPECT_LE(largest_allocation, 4 * file_bytes + (size_t{16} << 20)) << what;
}

TEST(Allocation, MalformedGgufFilesCannotAskForMemory) {
  for (const GgufCase& row : testing::AllGgufCases()) {
    ExpectModestMemory(row.bytes.size(), row.row, [&] { (void)testing::LoadGguf(row.bytes); });
  }
}

TEST(Allocation, CountsThatJustFitStayInBounds) {
  Bytes keys = GgufBuilder().Header();
  const uint64_t size = 40'000'000;
  keys.resize(size);
  for (const auto& [at, least_bytes] : {std::pair<size_t, uint64_t>{8, 24}, {16, 13}}) {
    const uint64_t count = (size - 24) / least_bytes;
    std::memcpy(keys.data() + at, &count, sizeof count);
  }
  ExpectModestMemory(size, "keys", [&] { EXPECT_FALSE(GgufFile::Parse(keys, "test.gguf").has_value()); });
  const uint64_t none = 0;
  std::memcpy(keys.data() + 16, &none, sizeof none);
  const uint64_t tensors = (size - 24) / 24;
  std::memcpy(keys.data() + 8, &tensors, sizeof tensors);
  ExpectModestMemory(size, "tensors", [&] { EXPECT_FALSE(GgufFile::Parse(keys, "test.gguf").has_value()); });
}

TEST(Allocation, DenseJsonStaysInBounds) {
  for (const std::string unit : {"0,", "[],", "{},", "\"\","}) {
    std::string text = "[";
    while (text.size() < 8'000'000) text += unit;
    text.back() = ']';
    ExpectModestMemory(text.size(), unit, [&] { (void)ParseJson(text, "test.json"); });
    Bytes file;
    testing::AppendString(file, "{\"t\":{\"dtype\":\"F32\",\"shape\":" + text);
    ExpectModestMemory(file.size(), unit, [&] { (void)SafetensorsFile::Parse(file, "test.safetensors"); });
  }
}

}  // namespace
}  // namespace attend
