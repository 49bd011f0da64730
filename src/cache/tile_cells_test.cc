// What a row of K or V is after a cache of every format held it: bounds of the error, special values, neighbours.
#include "cache/tile_cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/half.h"
#include "cache/kv_cache.h"

namespace attend {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
constexpr DType kFormats[] = {DType::kF32, DType::kBf16, DType::kF16, DType::kQ8, DType::kQ4};

CacheDescriptor Layer(uint32_t dim, DType dtype, uint32_t group = kWholeHead, bool rotates = false) {
  return {.num_kv_heads = 1,
          .k_head_dim = dim,
          .v_head_dim = dim,
          .format = {.k = dtype, .v = dtype, .scale_group = group, .rotate_k = rotates}};
}

// A tile of one side, all bytes 0xa5 at first: nothing may depend on what was there.
class Tile {
 public:
  Tile(const CacheDescriptor& d, bool is_key)
      : side_(is_key ? TileSide::Keys(d) : TileSide::Values(d)),
        memory_((is_key ? d.KTileBytes() : d.VTileBytes()) / sizeof(uint64_t) + 1, 0xa5a5a5a5a5a5a5a5u) {}

  void Put(int64_t slot, const std::vector<float>& row) { side_.Pack(bytes(), slot, row.data()); }
  std::vector<float> Get(int64_t slot) const {
    std::vector<float> row(static_cast<size_t>(side_.head_dim), -7.0f);
    side_.Unpack(reinterpret_cast<const uint8_t*>(memory_.data()), slot, row.data());
    return row;
  }
  int64_t group() const { return side_.group; }

 private:
  uint8_t* bytes() { return reinterpret_cast<uint8_t*>(memory_.data()); }
  TileSide side_;
  std::vector<uint64_t> memory_;
};

std::vector<float> AnyRow(int64_t n, uint32_t seed, float size = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, size);
  std::vector<float> row(static_cast<size_t>(n));
  for (float& x : row) x = normal(random);
  return row;
}

// The step of a group: what its largest value on either side needs.
double StepOf(DType dtype, const std::vector<float>& row, size_t first, size_t count) {
  double low = 0, high = 0;
  for (size_t i = first; i < std::min(row.size(), first + count); ++i) {
    low = std::max(low, -double{row[i]});
    high = std::max(high, double{row[i]});
  }
  return dtype == DType::kQ8 ? std::max(low, high) / 127 : std::max(low / 8, high / 7);
}

// Half a step, and what rounding the scale to 11 bits moves the outermost codes.
double BoundOf(DType dtype, double step) {
  return 0.5 * step * (1 + 0x1p-10) + (dtype == DType::kQ8 ? 128 : 8) * step * 0x1p-11 + 0x1p-25;
}

TEST(TileCellsTest, QuantisedValuesAreWithinHalfAStepOfTheirGroup) {
  for (const DType dtype : {DType::kQ8, DType::kQ4}) {
    for (const uint32_t group : {kWholeHead, kGroupValues}) {
      for (const uint32_t dim : {1u, 7u, 16u, 31u, 33u, 40u, 64u, 128u, 576u}) {
        for (const bool is_key : {true, false}) {
          Tile tile(Layer(dim, dtype, group), is_key);
          for (int64_t slot = 0; slot < 64; ++slot) tile.Put(slot, AnyRow(dim, static_cast<uint32_t>(slot + dim)));
          for (int64_t slot = 0; slot < 64; ++slot) {
            const std::vector<float> row = AnyRow(dim, static_cast<uint32_t>(slot + dim)), got = tile.Get(slot);
            for (size_t i = 0; i < dim; ++i) {
              const size_t size = static_cast<size_t>(tile.group());
              const double step = StepOf(dtype, row, i / size * size, size);
              ASSERT_NEAR(got[i], row[i], BoundOf(dtype, step)) << NameOf(dtype) << " dim " << dim << " value " << i;
            }
          }
        }
      }
    }
  }
}

TEST(TileCellsTest, FloatFormatsRoundOnce) {
  for (const uint32_t dim : {1u, 7u, 17u, 64u, 576u}) {
    for (const bool is_key : {true, false}) {
      for (int64_t slot : {0, 1, 63}) {
        const std::vector<float> row = AnyRow(dim, 5);
        Tile f32(Layer(dim, DType::kF32), is_key), bf16(Layer(dim, DType::kBf16), is_key),
            f16(Layer(dim, DType::kF16), is_key);
        for (Tile* tile : {&f32, &bf16, &f16}) tile->Put(slot, row);
        EXPECT_EQ(f32.Get(slot), row);
        for (size_t i = 0; i < dim; ++i) {
          EXPECT_EQ(bf16.Get(slot)[i], RoundToBf16(row[i]));
          EXPECT_EQ(f16.Get(slot)[i], HalfToFloat(FloatToHalf(row[i])));
        }
      }
    }
  }
}

// Rotated, rounded and rotated back: with floats the row itself, with few bits the error of the rotated row.
TEST(TileCellsTest, RotationOfKeysIsUndone) {
  for (const uint32_t dim : {16u, 40u, 64u, 96u, 128u, 576u}) {
    Tile exact(Layer(dim, DType::kF32, kWholeHead, true), true);
    const std::vector<float> row = AnyRow(dim, dim);
    exact.Put(3, row);
    for (size_t i = 0; i < dim; ++i) ASSERT_NEAR(exact.Get(3)[i], row[i], 1e-5) << dim;
    Tile values(Layer(dim, DType::kF32, kWholeHead, true), false);
    values.Put(3, row);
    EXPECT_EQ(values.Get(3), row) << "V is not rotated";
  }
}

// An outlier among small values: rotation spreads it, so that they survive 4 bits.
TEST(TileCellsTest, RotationKeepsSmallValuesBesideAnOutlier) {
  const auto error_of = [](bool rotates) {
    Tile tile(Layer(128, DType::kQ4, kWholeHead, rotates), true);
    std::vector<float> row = AnyRow(128, 2);
    row[40] = 60.0f;
    tile.Put(0, row);
    double sum = 0;
    for (size_t i = 0; i < row.size(); ++i) sum += (tile.Get(0)[i] - row[i]) * (tile.Get(0)[i] - row[i]);
    return std::sqrt(sum / 128);
  };
  EXPECT_LT(error_of(true), 0.5 * error_of(false));
}

TEST(TileCellsTest, WhatIsNotFiniteOrTooLargeMakesItsGroupNan) {
  for (const DType dtype : {DType::kQ8, DType::kQ4}) {
    // The largest half is 65504: scales beyond it do not exist.
    for (const float bad : {kNan, kInfinity, -kInfinity, 1e30f, -1e30f, 65504.0f * 128 * 1.1f}) {
      for (const bool is_key : {true, false}) {
        Tile tile(Layer(80, dtype, kGroupValues), is_key);
        std::vector<float> row = AnyRow(80, 4);
        tile.Put(4, row);
        row[40] = bad;
        tile.Put(5, row);
        for (size_t i = 0; i < 80; ++i) {
          const bool in_group = i >= 32 && i < 64;
          EXPECT_EQ(std::isnan(tile.Get(5)[i]), in_group) << NameOf(dtype) << " " << bad << " value " << i;
          EXPECT_FALSE(std::isnan(tile.Get(4)[i])) << "the token beside it";
        }
        row[40] = 0.5f;
        tile.Put(5, row);  // and it does not stay
        for (float x : tile.Get(5)) EXPECT_FALSE(std::isnan(x));
      }
    }
    Tile tile(Layer(8, dtype), true);
    tile.Put(0, std::vector<float>(8, 65504.0f * 6));  // within range
    EXPECT_NEAR(tile.Get(0)[0], 65504.0f * 6, 65504.0f * 6 * 0.01f);
  }
}

TEST(TileCellsTest, ZerosStayZeroAndTinyValuesDoNotGrow) {
  for (const DType dtype : {DType::kQ8, DType::kQ4}) {
    for (const float size : {0.0f, 1e-30f, 1e-9f, 1e-7f, 1e-6f, 1e-4f}) {
      std::vector<float> row = {size, -size, size / 3, 0, size, size, -size / 2, size};
      Tile tile(Layer(8, dtype), false);
      tile.Put(9, row);
      // Scales this small are whole multiples of 2^-24, rounded up so that no value falls beyond the last code.
      const double wanted = StepOf(dtype, row, 0, 8);
      const double step = wanted < 0x1p-14 ? std::ceil(wanted * 0x1p24) * 0x1p-24 : wanted;
      for (size_t i = 0; i < 8; ++i) {
        ASSERT_NEAR(tile.Get(9)[i], row[i], 0.5 * step * 1.01 + (dtype == DType::kQ8 ? 128 : 8) * step * 0x1p-11)
            << NameOf(dtype) << " " << size;
        if (size == 0) {
          EXPECT_EQ(tile.Get(9)[i], 0.0f);
        }
      }
    }
  }
}

// Two values share a byte of 4-bit cells: two dimensions of K, two tokens of V.
TEST(TileCellsTest, NeighboursSurviveRewriting) {
  for (const DType dtype : kFormats) {
    for (const bool is_key : {true, false}) {
      Tile tile(Layer(24, dtype), is_key);
      for (int64_t slot = 0; slot < 64; ++slot) tile.Put(slot, AnyRow(24, static_cast<uint32_t>(slot)));
      std::vector<std::vector<float>> before;
      for (int64_t slot = 0; slot < 64; ++slot) before.push_back(tile.Get(slot));
      for (int64_t slot : {0, 5, 12, 63}) {
        tile.Put(slot, AnyRow(24, 1000, 3.0f));
        for (int64_t other = 0; other < 64; ++other) {
          if (other == slot) continue;
          ASSERT_EQ(tile.Get(other), before[other]) << NameOf(dtype) << " " << slot << " " << other;
        }
        ASSERT_NE(tile.Get(slot), before[slot]);
        tile.Put(slot, AnyRow(24, static_cast<uint32_t>(slot)));
        ASSERT_EQ(tile.Get(slot), before[slot]) << "written again, the same";
      }
    }
  }
}

TEST(TileCellsTest, ATruncatedCacheIsExtendedAsIfItWereNew) {
  for (const DType dtype : {DType::kQ8, DType::kQ4}) {
    const CacheDescriptor layer = {
        .num_kv_heads = 2, .k_head_dim = 24, .v_head_dim = 20, .format = KvFormat::Both(dtype)};
    // The first `count` of 200 random tokens.
    const auto write = [](KvCache& cache, int64_t first, int64_t count, uint32_t seed) {
      ASSERT_TRUE(cache.Extend(count));
      cache.Write(0, first, count, AnyRow(200 * 48, seed).data(), 48, AnyRow(200 * 40, seed + 1).data(), 40);
    };
    KvCache cache = *KvCache::Make({layer}), expected = *KvCache::Make({layer});
    write(cache, 0, 200, 1);
    cache.Truncate(69);  // in the middle of a 4-bit word of V
    write(cache, 69, 60, 3);
    write(expected, 0, 69, 1);
    write(expected, 69, 60, 3);
    std::vector<float> k(24), v(20), expected_k(24), expected_v(20);
    for (int64_t token = 0; token < 129; ++token) {
      for (int64_t head = 0; head < 2; ++head) {
        cache.Read(0, head, token, k.data(), v.data());
        expected.Read(0, head, token, expected_k.data(), expected_v.data());
        ASSERT_EQ(k, expected_k) << token;
        ASSERT_EQ(v, expected_v) << token;
      }
    }
  }
}

TEST(TileCellsTest, BitsOfAValueAreThoseThatPublicationsQuote) {
  const auto bits = [](DType dtype, uint32_t group) {
    return static_cast<double>(Layer(128, dtype, group).ExactBytesPerToken()) * 8 / (2 * 128);
  };
  EXPECT_EQ(bits(DType::kQ8, kWholeHead), 8.125);
  EXPECT_EQ(bits(DType::kQ4, kWholeHead), 4.125);
  EXPECT_EQ(bits(DType::kQ8, kGroupValues), 8.5);
  EXPECT_EQ(bits(DType::kQ4, kGroupValues), 4.5);
  EXPECT_EQ(bits(DType::kF16, kWholeHead), 16);
  EXPECT_EQ(Layer(128, DType::kQ4).AllocatedBytes(64), 64 * Layer(128, DType::kQ4).ExactBytesPerToken());
}

}  // namespace
}  // namespace attend
