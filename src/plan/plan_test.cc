#include "plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/plan_test_util.h"

namespace attend {
namespace {

using testing::HasSubstr;

Plan PlanOf(const PlanRequest& request) {
  const auto plan = MakePlan(request);
  EXPECT_TRUE(plan) << Describe(plan.error());
  return plan ? *plan : Plan{};
}

const Change* FindChange(const Plan& plan, std::string_view prefix) {
  for (const Change& change : plan.changes) {
    if (change.what.starts_with(prefix)) return &change;
  }
  return nullptr;
}

TEST(Plan, OnePassWhereItFits) {
  const Plan plan = PlanOf(SmallRequest(7500));
  EXPECT_EQ(plan.verdict, Verdict::kOnePass);
  EXPECT_EQ(NameOf(plan.verdict), "one_pass");
  EXPECT_EQ(plan.num_pieces, 1);
  EXPECT_EQ(plan.piece_tokens, 7500);
  EXPECT_EQ(plan.pass_tokens, 7500 + 128 + 128);
  EXPECT_EQ(plan.memory.kv_bytes, 122u * 64 * 23'040);  // 7,756 tokens in 122 tiles
  EXPECT_EQ(plan.fits_tokens, 8192 - 256);
  EXPECT_TRUE(plan.changes.empty());
  EXPECT_THAT(plan.reason, HasSubstr("within the 8,192 that the model was trained on"));
}

TEST(Plan, TheTrainedLengthHoldsQuestionAndAnswerToo) {
  EXPECT_EQ(PlanOf(SmallRequest(8192 - 256)).verdict, Verdict::kOnePass);
  const Plan plan = PlanOf(SmallRequest(8192 - 255));
  EXPECT_EQ(plan.verdict, Verdict::kPieces);
  EXPECT_EQ(plan.num_pieces, 2);
  EXPECT_EQ(plan.limit, Limit::kContext);
  ASSERT_NE(FindChange(plan, "-n 127"), nullptr);
}

TEST(Plan, PiecesByContext) {
  const Plan plan = PlanOf(SmallRequest(20'000));
  EXPECT_EQ(plan.verdict, Verdict::kPieces);
  EXPECT_EQ(plan.num_pieces, 3);
  EXPECT_EQ(plan.piece_tokens, 6667);
  EXPECT_EQ(plan.overlap_tokens, 0);
  EXPECT_LE(plan.pass_tokens, 8192);
  EXPECT_THAT(plan.reason, HasSubstr("more than the 8,192 that the model was trained on"));
  const Change* change = FindChange(plan, "a model trained on at least 20,256 tokens");
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->gives, Verdict::kOnePass);
}

TEST(Plan, PiecesByMemory) {
  PlanRequest request = SmallRequest(7500);
  LimitMemoryTo(request, 4096);
  const Plan plan = PlanOf(request);
  EXPECT_EQ(plan.verdict, Verdict::kPieces);
  EXPECT_EQ(plan.limit, Limit::kMemory);
  EXPECT_EQ(plan.num_pieces, 2);
  EXPECT_LE(plan.memory.total_bytes, plan.memory.usable_bytes);
  EXPECT_EQ(plan.fits_tokens, 4096 - 256);
  EXPECT_NE(FindChange(plan, "--memory "), nullptr);
}

TEST(Plan, RefusedWhenTheSmallestPieceDoesNotFit) {
  PlanRequest request = SmallRequest(7500);
  LimitMemoryTo(request, 256 + 128 + 128 - 64);
  const Plan plan = PlanOf(request);
  EXPECT_EQ(plan.verdict, Verdict::kRefused);
  EXPECT_EQ(plan.limit, Limit::kMemory);
  EXPECT_EQ(plan.shortfall_bytes, 64u * 23'040);  // one tile
  EXPECT_THAT(plan.reason, HasSubstr("are lacking"));
  // Smaller caches, as little memory as helps, and enough for one pass.
  ASSERT_EQ(plan.changes.size(), 4u);
  EXPECT_EQ(plan.changes[0].what, "--kv q8");
  EXPECT_EQ(plan.changes[0].gives, Verdict::kPieces);
  EXPECT_EQ(plan.changes[1].what, "--kv q4");
  EXPECT_EQ(plan.changes[2].gives, Verdict::kPieces);
  EXPECT_EQ(plan.changes[3].gives, Verdict::kOnePass);
}

TEST(Plan, ChangesInsideTheReserveComeLast) {
  PlanRequest request = SmallRequest(7500);
  LimitMemoryTo(request, 7756);
  request.reserve = {.percent = 10, .bytes = std::nullopt};
  const Plan plan = PlanOf(request);
  EXPECT_EQ(plan.verdict, Verdict::kPieces);
  ASSERT_EQ(plan.changes.size(), 3u);
  EXPECT_EQ(plan.changes[0].what, "--kv q8");
  EXPECT_EQ(plan.changes[0].gives, Verdict::kOnePass);
  EXPECT_FALSE(plan.changes[1].inside_reserve);
  EXPECT_EQ(plan.changes[2].what, "--reserve 0");
  EXPECT_TRUE(plan.changes[2].inside_reserve);
}

TEST(Plan, ForbiddenPiecesAreNotUsed) {
  PlanRequest request = SmallRequest(20'000);
  request.max_pieces = 1;
  const Plan plan = PlanOf(request);
  EXPECT_EQ(plan.verdict, Verdict::kRefused);
  EXPECT_EQ(plan.limit, Limit::kContext);
  EXPECT_EQ(plan.num_pieces, 1);
  const Change* change = FindChange(plan, "--max-pieces 3");
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->gives, Verdict::kPieces);
  EXPECT_THAT(change->price, HasSubstr("references across the 2 borders are lost"));
  request.max_pieces = 2;
  EXPECT_EQ(PlanOf(request).limit, Limit::kMaxPieces);
  request.max_pieces = 3;
  EXPECT_EQ(PlanOf(request).verdict, Verdict::kPieces);
}

TEST(Plan, AFixedPieceSizeIsKeptOrRefused) {
  PlanRequest request = SmallRequest(7500);
  request.piece_tokens = 2000;
  const Plan kept = PlanOf(request);
  EXPECT_EQ(kept.verdict, Verdict::kPieces);
  EXPECT_EQ(kept.limit, Limit::kPieceTokens);
  EXPECT_EQ(kept.piece_tokens, 2000);
  EXPECT_EQ(kept.num_pieces, 4);

  request.document_tokens = 20'000;
  request.piece_tokens = 8000;
  const Plan refused = PlanOf(request);
  EXPECT_EQ(refused.verdict, Verdict::kRefused);
  EXPECT_EQ(refused.piece_tokens, 8000);
  EXPECT_NE(FindChange(refused, "--piece-tokens 6667"), nullptr);
}

TEST(Plan, AFixedCacheFormatIsKept) {
  PlanRequest request = SmallRequest(7500);
  LimitMemoryTo(request, 7756);  // for bf16
  request.kv_format = KvFormat::Both(DType::kF32);
  request.max_pieces = 1;
  const Plan plan = PlanOf(request);
  EXPECT_EQ(plan.verdict, Verdict::kRefused);
  EXPECT_EQ(plan.kv_bytes_per_token, 2u * 23'040);
  ASSERT_FALSE(plan.changes.empty());
  EXPECT_EQ(plan.changes[0].what, "--kv bf16");
}

TEST(Plan, WithoutCalibrationThereAreNoTimesAndTheMemoryDecisionStands) {
  PlanRequest request = SmallRequest(7500);
  request.time_limit_s = 1;
  EXPECT_EQ(PlanOf(request).verdict, Verdict::kOnePass);
  EXPECT_THAT(PlanOf(request).reason, HasSubstr("not calibrated"));
  request.calibration = Calibration{};  // all rates 0
  EXPECT_FALSE(PlanOf(request).times);
}

TEST(Plan, TimesAreTheFormula) {
  PlanRequest request = SmallRequest(7500);
  request.calibration = TwoSmallCores();
  const Plan plan = PlanOf(request);
  ASSERT_TRUE(plan.times);
  const double params = 30.0 * (576 * (576 + 192 + 192 + 576) + 3 * 576 * 1536), prompt = 7628;
  EXPECT_EQ(plan.linear_flops, 2 * params * prompt + 2.0 * 49152 * 576);
  EXPECT_EQ(plan.attention_flops, 30.0 * 2 * 128 * 9 * prompt * (prompt + 1) / 2);
  EXPECT_NEAR(plan.times->prefill_s.expected, plan.linear_flops / 60e9 + plan.attention_flops / 40e9 + prompt * 1e-4,
              1e-9);
  double decode_s = 0;
  for (int i = 1; i <= 128; ++i) decode_s += 100e6 / 10e9 + (prompt + i) * 23'040 / 8e9;
  EXPECT_NEAR(plan.times->decode_s.expected, decode_s, 1e-9);
  EXPECT_DOUBLE_EQ(plan.times->total_s.low, 0.8 * plan.times->total_s.expected);
  EXPECT_DOUBLE_EQ(plan.times->total_s.high, 1.3 * plan.times->total_s.expected);
  EXPECT_NEAR(plan.times->decode_tokens_per_s.expected, 1 / (0.01 + (prompt + 64) * 23'040 / 8e9), 1e-9);
}

TEST(Plan, QuotesCostAPassOverThePassagesAndNoDecoding) {
  PlanRequest request = SmallRequest(7200);
  request.calibration = TwoSmallCores();
  const PlanTimes written = *PlanOf(request).times;
  EXPECT_EQ(written.evidence_s.expected, 0);
  request.runtime.quoted_questions = 2;
  const PlanTimes quoted = *PlanOf(request).times;
  EXPECT_EQ(quoted.decode_s.expected, 0);
  EXPECT_EQ(quoted.prefill_s.expected, written.prefill_s.expected);
  const double token_s = 212'336'640 / 60e9 + 1e-4, tokens = 7200 + 80 * (8 + 2 * 16);
  EXPECT_NEAR(quoted.evidence_s.expected, tokens * token_s / 0.6 + 80 * 3 * 100e6 / 10e9, 1e-9);
  EXPECT_NEAR(quoted.total_s.expected, quoted.prefill_s.expected + quoted.evidence_s.expected, 1e-9);
  request.runtime.concurrent = 3;  // every document has its own passages
  EXPECT_NEAR(PlanOf(request).times->evidence_s.expected, 3 * quoted.evidence_s.expected, 1e-9);
}

TEST(Plan, ATimeLimitGivesPiecesOrARefusal) {
  PlanRequest request = SmallRequest(7500);
  request.answer_tokens = 8;
  request.calibration = TwoSmallCores();
  const double one_pass_s = PlanOf(request).times->total_s.expected;
  request.time_limit_s = one_pass_s * 0.9;
  const Plan pieces = PlanOf(request);
  EXPECT_EQ(pieces.verdict, Verdict::kPieces);
  EXPECT_EQ(pieces.limit, Limit::kTime);
  EXPECT_LE(pieces.times->total_s.expected, *request.time_limit_s);
  request.time_limit_s = 1;
  const Plan refused = PlanOf(request);
  EXPECT_EQ(refused.verdict, Verdict::kRefused);
  EXPECT_EQ(refused.limit, Limit::kTime);
  EXPECT_NE(FindChange(refused, "--time "), nullptr);
}

TEST(Plan, WrongUse) {
  for (int64_t tokens : {int64_t{0}, int64_t{-1}, kMaxPlanTokens + 1, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(MakePlan(SmallRequest(tokens)).error().code, ErrorCode::kBadArgument);
  }
  PlanRequest request = SmallRequest(100);
  request.context_tokens = 8193;
  EXPECT_EQ(MakePlan(request).error().code, ErrorCode::kBadArgument);
}

TEST(Plan, EveryNumberHasItsFormula) {
  PlanRequest request = SmallRequest(7500);
  request.calibration = TwoSmallCores();
  const Plan plan = PlanOf(request);
  const auto result = [&](std::string_view name) {
    for (const Formula& f : plan.formulas) {
      EXPECT_FALSE(f.formula.empty() || f.inputs.empty() || f.unit.empty()) << f.name;
      if (f.name == name) return f.result;
    }
    ADD_FAILURE() << name;
    return 0.0;
  };
  EXPECT_EQ(result("kv_bytes"), static_cast<double>(plan.memory.kv_bytes));
  EXPECT_EQ(result("total_bytes"), static_cast<double>(plan.memory.total_bytes));
  EXPECT_EQ(result("attention_flops"), plan.attention_flops);
  EXPECT_EQ(result("total_s"), plan.times->total_s.expected);
}

}  // namespace
}  // namespace attend
