// Shared by the tests of kernels and attention: every kernel table this processor can run, and random rows.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/machine.h"
#include "kernels/dispatch.h"
#include "kernels/kernel_table.h"

namespace attend {

#if defined(__x86_64__)
extern const KernelTable kEmulatedBf16Kernels;  // isa/emulated_bf16_test.cc
#endif

inline constexpr const char* kAllTableNames[] = {"scalar",      "avx2",        "avx512",
                                                 "avx512_vnni", "avx512_bf16", "avx512_bf16_emulated"};

// The table of that name, or nullptr when this processor cannot run it.
inline const KernelTable* FindTable(const std::string& name) {
  static const Machine machine = DetectMachine();
  for (Isa isa : machine.isas) {
    if (NameOf(isa) == name) return &KernelsFor(isa);
#if defined(__x86_64__)
    if (isa == Isa::kAvx512 && name == "avx512_bf16_emulated") return &kEmulatedBf16Kernels;
#endif
  }
  return nullptr;
}

inline std::vector<const KernelTable*> TablesHere() {
  std::vector<const KernelTable*> tables;
  for (const char* name : kAllTableNames) {
    if (const KernelTable* table = FindTable(name)) tables.push_back(table);
  }
  return tables;
}

// A test that runs once for every table; skipped with a word where the processor lacks it.
class EveryTable : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    table_ = FindTable(GetParam());
    if (table_ == nullptr) GTEST_SKIP() << "this processor cannot run " << GetParam();
  }
  const KernelTable& table() const { return *table_; }

 private:
  const KernelTable* table_ = nullptr;
};

#define ATTEND_FOR_EVERY_TABLE(suite)                                             \
  INSTANTIATE_TEST_SUITE_P(Isa, suite, testing::ValuesIn(attend::kAllTableNames), \
                           [](const auto& table_info) { return std::string(table_info.param); })

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr double kEps = 0x1p-24;  // half an ulp of 1: the largest relative error of one rounding

inline std::vector<float> RandomRow(int64_t n, uint32_t seed, float deviation = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<float> row(static_cast<size_t>(n));
  for (float& x : row) x = normal(random);
  return row;
}

}  // namespace attend
