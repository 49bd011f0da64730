#include "attention/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "attention/reference.h"

namespace attend {
namespace {

void ExpectRefused(const AttentionShape& shape, const std::string& subject) {
  const auto schedule = ScheduleAttention(shape, {});
  ASSERT_FALSE(schedule) << subject;
  EXPECT_EQ(schedule.error().code, ErrorCode::kAttentionBadShape);
  EXPECT_EQ(schedule.error().subject, subject);
  EXPECT_EQ(schedule.error().where, "attention");
}

TEST(ScheduleTest, BadShapesAreRefusedByTheArgumentsName) {
  const std::vector<int64_t> lens = {4}, two = {4, 5}, negative = {-1};
  ExpectRefused({6, 4, 64, 64, lens, lens}, "num_q_heads");
  ExpectRefused({0, 1, 64, 64, lens, lens}, "num_q_heads");
  ExpectRefused({-2, 2, 64, 64, lens, lens}, "num_q_heads");
  ExpectRefused({4, 0, 64, 64, lens, lens}, "num_kv_heads");
  ExpectRefused({4, -1, 64, 64, lens, lens}, "num_kv_heads");
  ExpectRefused({4, 2, 0, 64, lens, lens}, "head_dim");
  ExpectRefused({4, 2, 577, 64, lens, lens}, "head_dim");
  ExpectRefused({4, 2, 64, 577, lens, lens}, "v_head_dim");
  ExpectRefused({4, 2, 64, -1, lens, lens}, "v_head_dim");
  ExpectRefused({4, 2, 64, 64, lens, two}, "kv_lens");
  ExpectRefused({4, 2, 64, 64, negative, lens}, "lengths");
  ExpectRefused({4, 2, 64, 64, lens, negative}, "lengths");
}

TEST(ScheduleTest, DefaultsFollowTheHeadDimension) {
  const std::vector<int64_t> lens = {4};
  const auto schedule = ScheduleAttention({4, 2, 64, 0, lens, lens}, {});
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->v_head_dim, 64);
  EXPECT_EQ(schedule->scales, std::vector<float>(4, 0.125f));
  EXPECT_EQ(schedule->group_size, 2);
}

Mask AnyMask() {
  return *rc::gen::element(Mask::None(), Mask::Causal(), Mask::CausalWindow(*rc::gen::inRange<int64_t>(1, 700)));
}

// Every pair of row and visible key is in exactly one unit; partial results do not overlap; a sequence's units are
// those it has alone.
RC_GTEST_PROP(ScheduleTest, UnitsCoverEveryVisiblePairOnce, ()) {
  const Mask mask = AnyMask();
  const int64_t kv_heads = *rc::gen::inRange<int64_t>(1, 4), group = *rc::gen::inRange<int64_t>(1, 17);
  std::vector<int64_t> q_lens, kv_lens;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    q_lens.push_back(*rc::gen::inRange<int64_t>(0, 40));
    kv_lens.push_back(*rc::gen::element<int64_t>(0, 1, 30, 64, 600, 1024, 1025, 1537, 1999));
  }
  const auto s = ScheduleAttention({kv_heads * group, kv_heads, 16, 16, q_lens, kv_lens}, {.mask = mask});
  RC_ASSERT(s.has_value());
  std::vector<int> partial(static_cast<size_t>(s->num_partial_rows), 0);
  int64_t pairs = 0;
  for (size_t i = 0; i < q_lens.size(); ++i) {
    std::vector<std::vector<int>> seen(static_cast<size_t>(kv_heads * q_lens[i] * group),
                                       std::vector<int>(static_cast<size_t>(kv_lens[i]), 0));
    for (const AttentionUnit& unit : s->units) {
      if (unit.sequence != static_cast<int64_t>(i)) continue;
      RC_ASSERT(unit.rows.end - unit.rows.begin <= kRowTile);
      RC_ASSERT(unit.keys.end <= kv_lens[i]);
      for (int64_t row = unit.rows.begin; row < unit.rows.end; ++row) {
        if (unit.partial >= 0) ++partial[unit.partial + row - unit.rows.begin];
        for (int64_t key = unit.keys.begin; key < unit.keys.end; ++key)
          ++seen[unit.kv_head * q_lens[i] * group + row][key];
      }
    }
    const VisibleFn visible =
        mask.kind == MaskKind::kNone ? AllVisible() : CausalVisible(q_lens[i], kv_lens[i], mask.window_left + 1);
    for (int64_t row = 0; row < static_cast<int64_t>(seen.size()); ++row) {
      const int64_t query = row % (q_lens[i] * group) / group;
      for (int64_t key = 0; key < kv_lens[i]; ++key) {
        RC_ASSERT(seen[row][key] <= 1);
        if (!visible(query, key)) continue;
        RC_ASSERT(seen[row][key] == 1);
        pairs += row < q_lens[i] * group && row % group == 0;
      }
    }
  }
  for (int count : partial) RC_ASSERT(count == 1);
  RC_ASSERT(VisiblePairs(*s) == pairs);
}

RC_GTEST_PROP(MaskTest, VisibleKeysAreThoseOfTheFormulaAndRise, ()) {
  const Mask mask = AnyMask();
  const int64_t q_len = *rc::gen::inRange<int64_t>(1, 60), kv_len = *rc::gen::inRange<int64_t>(0, 60);
  const VisibleFn visible =
      mask.kind == MaskKind::kNone ? AllVisible() : CausalVisible(q_len, kv_len, mask.window_left + 1);
  KeyRange before;
  for (int64_t query = 0; query < q_len; ++query) {
    const KeyRange keys = mask.Band(query, q_len, kv_len);
    for (int64_t key = 0; key < kv_len; ++key) RC_ASSERT((key >= keys.begin && key < keys.end) == visible(query, key));
    RC_ASSERT(keys.begin >= before.begin && keys.end >= before.end && keys.begin <= keys.end);
    before = keys;
  }
}

TEST(MaskTest, AreTheDrawnOnes) {
  EXPECT_EQ(Mask::Causal().Band(0, 3, 5).end, 3);
  EXPECT_EQ(Mask::Causal().Band(2, 3, 5).end, 5);
  EXPECT_EQ(Mask::CausalWindow(2).Band(0, 3, 5).begin, 1);
  EXPECT_EQ(Mask::CausalWindow(2).Band(0, 3, 5).end, 3);
  EXPECT_EQ(Mask::None().Band(0, 3, 5).end, 5);
}

}  // namespace
}  // namespace attend
