#include "text/byte_bpe.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace attend {
namespace {

// Tokens 0..2 are the bytes a, b, c.
std::array<uint32_t, 256> BytesAbc() {
  std::array<uint32_t, 256> tokens;
  tokens.fill(ByteBpe::kNoToken);
  tokens['a'] = 0;
  tokens['b'] = 1;
  tokens['c'] = 2;
  return tokens;
}

// Every join makes a new token; which pairs join is up to the seed.
std::vector<BpeMerge> SomeMerges(uint32_t count, uint32_t seed) {
  std::vector<BpeMerge> merges;
  for (uint32_t rank = 0; rank < count; ++rank) {
    seed = seed * 1664525u + 1013904223u;
    const uint32_t known = 3 + rank;
    const BpeMerge merge = {.left = (seed >> 8) % known, .right = (seed >> 20) % known, .joined = known, .rank = rank};
    const bool again = std::any_of(merges.begin(), merges.end(),
                                   [&](const BpeMerge& m) { return m.left == merge.left && m.right == merge.right; });
    if (!again) merges.push_back(merge);
  }
  return merges;
}

// The definition: join the lowest-ranked pair, leftmost first, until there is none.
std::vector<uint32_t> NaiveBpe(std::vector<uint32_t> ids, const std::vector<BpeMerge>& merges) {
  for (;;) {
    const BpeMerge* best = nullptr;
    size_t where = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      for (const BpeMerge& merge : merges) {
        if (merge.left == ids[i] && merge.right == ids[i + 1] && (best == nullptr || merge.rank < best->rank)) {
          best = &merge;
          where = i;
        }
      }
    }
    if (best == nullptr) return ids;
    ids[where] = best->joined;
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(where) + 1);
  }
}

RC_GTEST_PROP(ByteBpe, EqualsTheDefinition, (uint32_t seed)) {
  const auto word = *rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c'));
  const std::vector<BpeMerge> merges = SomeMerges(12, seed);
  std::vector<uint32_t> bytes;
  for (const char c : word) bytes.push_back(static_cast<uint32_t>(c - 'a'));
  std::vector<uint32_t> ids;
  ByteBpe(BytesAbc(), merges, 32).Append(word, 0, ids, nullptr);
  RC_ASSERT(ids == NaiveBpe(bytes, merges));
}

TEST(ByteBpe, DropsBytesWithoutATokenBeforeMerging) {
  const ByteBpe bpe(BytesAbc(), {{.left = 0, .right = 1, .joined = 3, .rank = 0}}, 4);
  std::vector<uint32_t> ids;
  std::vector<size_t> offsets;
  bpe.Append(
      "xa\x04"
      "bxc",
      10, ids, &offsets);
  EXPECT_EQ(ids, (std::vector<uint32_t>{3, 2}));
  EXPECT_EQ(offsets, (std::vector<size_t>{11, 15}));
  bpe.Append("xyz", 0, ids, &offsets);
  EXPECT_EQ(ids.size(), 2u);
}

TEST(ByteBpe, SpellingMapsBothWays) {
  EXPECT_EQ(BytesOfSpelling("Ġa"), " a");
  EXPECT_EQ(BytesOfSpelling("Ċ"), "\n");
  EXPECT_EQ(BytesOfSpelling("Ã©"), "é");
  EXPECT_EQ(BytesOfSpelling("Ń"), "\xad");
  EXPECT_EQ(BytesOfSpelling("a b"), std::nullopt);
  EXPECT_EQ(BytesOfSpelling("世"), std::nullopt);
  EXPECT_EQ(BytesOfSpelling("\xff"), std::nullopt);
}

}  // namespace
}  // namespace attend
