#include "cache/kv_cache.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "base/half.h"

namespace attend {
namespace {

CacheDescriptor Layer(uint32_t heads, uint32_t k_dim, uint32_t v_dim, DType dtype) {
  return {.num_kv_heads = heads, .k_head_dim = k_dim, .v_head_dim = v_dim, .format = KvFormat::Both(dtype)};
}

// A value that says where it belongs; not exact in bf16.
float ValueAt(int64_t layer, int64_t token, int64_t head, int64_t column, bool is_v, int version = 0) {
  return static_cast<float>(1 + layer * 7 + token * 131 + head * 17 + column * 3 + (is_v ? 50000 : 0)) * 1.00037f +
         static_cast<float>(version) * 1e6f;
}

// Writes tokens [first, first + count) of every layer, rows padded by a few floats.
void WriteTokens(KvCache& cache, int64_t first, int64_t count, int version = 0) {
  for (int64_t l = 0; l < cache.num_layers(); ++l) {
    const CacheDescriptor& d = cache.layer(l);
    const int64_t k_stride = int64_t{d.num_kv_heads} * d.k_head_dim + 3,
                  v_stride = int64_t{d.num_kv_heads} * d.v_head_dim + 1;
    std::vector<float> k(static_cast<size_t>(count * k_stride), -1.0f), v(static_cast<size_t>(count * v_stride), -1.0f);
    for (int64_t t = 0; t < count; ++t) {
      for (int64_t h = 0; h < d.num_kv_heads; ++h) {
        for (int64_t c = 0; c < d.k_head_dim; ++c)
          k[t * k_stride + h * d.k_head_dim + c] = ValueAt(l, first + t, h, c, false, version);
        for (int64_t c = 0; c < d.v_head_dim; ++c)
          v[t * v_stride + h * d.v_head_dim + c] = ValueAt(l, first + t, h, c, true, version);
      }
    }
    cache.Write(l, first, count, k.data(), k_stride, v.data(), v_stride);
  }
}

void Append(KvCache& cache, int64_t count, int version = 0) {
  const int64_t first = cache.num_tokens();
  ASSERT_TRUE(cache.Extend(count));
  WriteTokens(cache, first, count, version);
}

// Whether every token from `first` on holds the values of `version`.
bool Holds(const KvCache& cache, int64_t first, int64_t end, int version = 0) {
  for (int64_t l = 0; l < cache.num_layers(); ++l) {
    const CacheDescriptor& d = cache.layer(l);
    const auto stored = [&](float x) { return d.format.k == DType::kF32 ? x : RoundToBf16(x); };
    std::vector<float> k(d.k_head_dim), v(d.v_head_dim);
    for (int64_t t = first; t < end; ++t) {
      for (int64_t h = 0; h < d.num_kv_heads; ++h) {
        cache.Read(l, h, t, k.data(), v.data());
        for (int64_t c = 0; c < d.k_head_dim; ++c) {
          if (k[c] != stored(ValueAt(l, t, h, c, false, version))) return false;
        }
        for (int64_t c = 0; c < d.v_head_dim; ++c) {
          if (v[c] != stored(ValueAt(l, t, h, c, true, version))) return false;
        }
      }
    }
  }
  return true;
}

const std::vector<std::vector<CacheDescriptor>> kLayouts = {
    {Layer(2, 40, 24, DType::kF32)},
    {Layer(2, 40, 24, DType::kBf16)},
    {Layer(3, 64, 64, DType::kBf16), Layer(1, 576, 512, DType::kBf16), Layer(2, 7, 9, DType::kF32)},
};

TEST(KvCacheTest, WhatIsWrittenIsReadExactInF32AndRoundedInBf16) {
  for (const auto& layout : kLayouts) {
    KvCache cache = *KvCache::Make(layout);
    for (int64_t count : {1, 62, 1, 1, 1, 100, 64, 3}) Append(cache, count);
    EXPECT_EQ(cache.num_tokens(), 233);
    EXPECT_TRUE(Holds(cache, 0, 233));
  }
}

TEST(KvCacheTest, SpecialValuesKeepTheirClass) {
  for (DType dtype : {DType::kF32, DType::kBf16}) {
    KvCache cache = *KvCache::Make({Layer(1, 4, 4, dtype)});
    ASSERT_TRUE(cache.Extend(1));
    const float values[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -0.0f,
                            1e-40f};
    cache.Write(0, 0, 1, values, 4, values, 4);
    float k[4], v[4];
    cache.Read(0, 0, 0, k, v);
    EXPECT_TRUE(std::isnan(k[0]) && std::isnan(v[0]));
    EXPECT_TRUE(std::isinf(k[1]) && std::isinf(v[1]));
    EXPECT_TRUE(std::signbit(k[2]) && k[2] == 0);
    EXPECT_EQ(k[3], dtype == DType::kF32 ? 1e-40f : RoundToBf16(1e-40f));
  }
}

TEST(KvCacheTest, AllocatesExactlyWhatTheDescriptorsSay) {
  for (const auto& layout : kLayouts) {
    for (int64_t tokens : {0, 1, 63, 64, 65, 1000}) {
      KvCache cache = *KvCache::Make(layout);
      ASSERT_TRUE(cache.Extend(tokens));
      uint64_t bytes = 0;
      for (const CacheDescriptor& d : layout) bytes += d.AllocatedBytes(static_cast<uint64_t>(tokens));
      EXPECT_EQ(cache.allocated_bytes(), bytes) << tokens;
    }
  }
}

TEST(KvCacheTest, DescriptorFormulaIsTheOneInItsHeader) {
  const CacheDescriptor d = Layer(3, 40, 64, DType::kBf16);
  EXPECT_EQ(d.ExactBytesPerToken(), 3u * (40 + 64) * 2);
  EXPECT_EQ(d.AllocatedBytes(65), 2u * 64 * 3 * (48 + 64) * 2);
  CacheDescriptor none = d;
  none.kind = CacheKind::kNone;
  EXPECT_EQ(none.AllocatedBytes(65), 0u);
  EXPECT_EQ(none.ExactBytesPerToken(), 0u);
}

TEST(KvCacheTest, KindsOfThePlanAloneAreRefused) {
  for (const CacheKind kind : {CacheKind::kLinear, CacheKind::kShared}) {
    CacheDescriptor layer = Layer(3, 40, 64, DType::kBf16);
    layer.kind = kind;
    EXPECT_EQ(KvCache::Make({layer}).error().found, NameOf(kind));
    EXPECT_EQ(layer.ExactBytesPerToken(), 0u);
    EXPECT_EQ(layer.ReadBytesPerToken(), kind == CacheKind::kShared ? 3u * (40 + 64) * 2 : 0u);
  }
}

TEST(KvCacheTest, PaddingIsZero) {
  KvCache cache = *KvCache::Make({Layer(1, 5, 3, DType::kF32)});
  Append(cache, 2);
  const KvView view = cache.View(0);
  EXPECT_EQ(view.k_dim, 16);
  EXPECT_EQ(view.v_width, 16);
  const float* k = reinterpret_cast<const float*>(view.blocks[0]);
  const float* v = reinterpret_cast<const float*>(view.blocks[0] + view.k_tile_bytes);
  for (int64_t dim = 5; dim < 16; ++dim) {
    for (int64_t slot = 0; slot < 64; ++slot) EXPECT_EQ(k[dim * 64 + slot], 0.0f);
  }
  for (int64_t slot = 0; slot < 64; ++slot) {
    for (int64_t c = 3; c < 16; ++c) EXPECT_EQ(v[slot * 16 + c], 0.0f);
  }
}

TEST(KvCacheTest, AForkAndItsOriginalDoNotSeeEachOthersTokens) {
  for (const auto& layout : kLayouts) {
    for (int64_t shared : {0, 1, 63, 64, 65, 130}) {
      KvCache a = *KvCache::Make(layout);
      Append(a, shared);
      KvCache b = a.Fork();
      EXPECT_EQ(b.allocated_bytes(), a.allocated_bytes());
      if (shared > 0) {
        EXPECT_EQ(a.View(0).blocks[0], b.View(0).blocks[0]) << "shared until written";
      }
      Append(a, 5, 1);
      Append(b, 70, 2);
      EXPECT_EQ(a.num_tokens(), shared + 5);
      EXPECT_EQ(b.num_tokens(), shared + 70);
      EXPECT_TRUE(Holds(a, 0, shared) && Holds(b, 0, shared));
      EXPECT_TRUE(Holds(a, shared, shared + 5, 1));
      EXPECT_TRUE(Holds(b, shared, shared + 70, 2));
      if (shared >= 64) {
        EXPECT_EQ(a.View(0).blocks[0], b.View(0).blocks[0]) << "full blocks stay shared";
      }
    }
  }
}

TEST(KvCacheTest, TruncateGivesMemoryBackAndTheTailIsWrittenAnew) {
  KvCache cache = *KvCache::Make(kLayouts[1]);
  Append(cache, 200);
  cache.Truncate(70);
  EXPECT_EQ(cache.num_tokens(), 70);
  EXPECT_EQ(cache.allocated_bytes(), kLayouts[1][0].AllocatedBytes(70));
  Append(cache, 60, 1);
  EXPECT_TRUE(Holds(cache, 0, 70));
  EXPECT_TRUE(Holds(cache, 70, 130, 1));
  cache.Truncate(0);
  EXPECT_EQ(cache.allocated_bytes(), 0u);
}

// Any history of forks, appends and truncations: each cache holds its own tokens.
RC_GTEST_PROP(KvCacheTest, AnyHistoryKeepsEachCachesTokens, ()) {
  std::vector<KvCache> caches;
  std::vector<std::vector<int>> versions(1);  // of each token of each cache
  caches.push_back(*KvCache::Make({Layer(1, 2, 3, DType::kF32)}));
  for (int step = 1; step <= 12; ++step) {
    const size_t i = *rc::gen::inRange<size_t>(0, caches.size());
    const int action = *rc::gen::inRange(0, 4);
    if (action == 0) {
      caches.push_back(caches[i].Fork());
      versions.push_back(std::vector<int>(versions[i]));
    } else if (action == 1) {
      const int64_t keep = *rc::gen::inRange<int64_t>(0, caches[i].num_tokens() + 1);
      caches[i].Truncate(keep);
      versions[i].resize(static_cast<size_t>(keep));
    } else {
      const int64_t count = *rc::gen::inRange<int64_t>(0, 90);
      Append(caches[i], count, step);
      versions[i].resize(versions[i].size() + static_cast<size_t>(count), step);
    }
  }
  for (size_t i = 0; i < caches.size(); ++i) {
    RC_ASSERT(caches[i].num_tokens() == static_cast<int64_t>(versions[i].size()));
    for (size_t t = 0; t < versions[i].size(); ++t) {
      RC_ASSERT(Holds(caches[i], static_cast<int64_t>(t), static_cast<int64_t>(t) + 1, versions[i][t]));
    }
  }
}

TEST(KvCacheTest, OtherFormatsAreRefused) {
  const CacheDescriptor good = Layer(1, 16, 16, DType::kBf16);
  CacheDescriptor type = good, group = good, wide = good, turned = good, narrow = good;
  type.format.v = DType::kI8;
  group.format.scale_group = 5;
  wide.k_head_dim = 577;
  turned.v_in_k = turned.format.rotate_k = true;
  narrow.v_in_k = true;
  narrow.v_head_dim = 17;
  for (const CacheDescriptor& bad : {type, group, wide, turned, narrow}) {
    const auto cache = KvCache::Make({Layer(1, 16, 16, DType::kBf16), bad});
    ASSERT_FALSE(cache);
    EXPECT_EQ(cache.error().code, ErrorCode::kBadArgument);
    EXPECT_EQ(cache.error().where, "cache");
  }
}

}  // namespace
}  // namespace attend
