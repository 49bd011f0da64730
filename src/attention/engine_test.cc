// Random shapes against the double reference, for every instruction set, class and cache format.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "attention/attention_test_util.h"
#include "base/half.h"

namespace attend {
namespace {

constexpr int64_t kMaxProducts = 3'000'000;  // multiply-adds of one reference, so that a run stays short

int64_t Products(const AttentionProblem& p, int64_t q_len, int64_t kv_len) {
  return q_len * p.num_q_heads * kv_len * (p.head_dim + p.v_head_dim);
}

Mask AnyMask() {
  const int kind = *rc::gen::inRange(0, 4);
  if (kind == 0) return Mask::None();
  if (kind == 1) return Mask::CausalWindow(*rc::gen::inRange<int64_t>(1, 150));
  return Mask::Causal();
}

// Groups of 1..16, dimensions 1..72, query counts around the tiles, key counts that are no multiple of a tile, some
// beyond the 1024 from which keys are split.
AttentionProblem AnyProblem() {
  AttentionProblem p;
  p.num_kv_heads = *rc::gen::inRange<int64_t>(1, 4);
  p.num_q_heads = p.num_kv_heads * *rc::gen::inRange<int64_t>(1, 17);
  p.head_dim = *rc::gen::inRange<int64_t>(1, 73);
  p.v_head_dim = *rc::gen::inRange<int64_t>(1, 73);
  p.mask = AnyMask();
  if (*rc::gen::inRange(0, 3) == 0) p.scale = 0.3f;
  return p;
}

void AddAnySequence(AttentionProblem& p) {
  const int64_t q_len = *rc::gen::element<int64_t>(1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 32, 33, 63, 64, 65, 96, 97);
  int64_t kv_len = *rc::gen::element<int64_t>(1, 2, 33, 64, 65, 100, 127, 191, 300, 1025, 1091, 1600);
  while (kv_len > 1 && Products(p, q_len, kv_len) > kMaxProducts) kv_len /= 2;
  p.AddRandomSequence(q_len, kv_len, *rc::gen::inRange<uint32_t>(1, 1000));
}

void LogProblem(const AttentionProblem& p, const KernelTable& table) {
  RC_LOG() << table.name << " hq" << p.num_q_heads << " hkv" << p.num_kv_heads << " d" << p.head_dim << " dv"
           << p.v_head_dim << " mask" << static_cast<int>(p.mask.kind) << " left" << p.mask.window_left << " scale"
           << p.scale;
  for (const Sequence& s : p.sequences) RC_LOG() << " q" << s.q_len << "x" << s.kv_len;
}

double RootMeanSquare(const std::vector<float>& got, const std::vector<double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < got.size(); ++i) sum += (got[i] - expected[i]) * (got[i] - expected[i]);
  return std::sqrt(sum / static_cast<double>(std::max<size_t>(1, got.size())));
}

void RoundAll(std::vector<float>& x) {
  for (float& v : x) v = RoundToBf16(v);
}

RC_GTEST_PROP(EngineTest, ClassF32IsTheDoubleReference, ()) {
  AttentionProblem p = AnyProblem();
  AddAnySequence(p);
  const ReferenceResult exact = p.Reference();
  AttentionProblem rounded = p;  // a bf16 cache in class f32: the stored values exactly
  RoundAll(rounded.sequences[0].k);
  RoundAll(rounded.sequences[0].v);
  const ReferenceResult stored = rounded.Reference();
  for (const KernelTable* table : TablesHere()) {
    LogProblem(p, *table);
    const RunResult f32 = RunProblem(p, *table, kExact);
    RC_ASSERT(LargestDifference(f32.out[0], exact.out) <= 5e-6);
    RC_ASSERT(LargestDifference(f32.lse[0], exact.lse) <= 5e-6);
    RC_ASSERT(f32.counters.rows == p.ExpectedRows());
    const RunResult bf16 = RunProblem(p, *table, {Compute::kF32, DType::kBf16, 1});
    RC_ASSERT(LargestDifference(bf16.out[0], stored.out) <= 5e-6);
    RC_ASSERT(LargestDifference(bf16.lse[0], stored.lse) <= 5e-6);
  }
}

// The rule of ARCHITECTURE.md, Numerics: at most twice the error of the naive loop of the same class, plus a few
// eps. Over a handful of rows the naive loop may be right by luck; that allowance is gone with their number.
RC_GTEST_PROP(EngineTest, ClassBf16IsWithinTwiceTheNaiveLoop, ()) {
  AttentionProblem p = AnyProblem();
  AddAnySequence(p);
  const ReferenceResult exact = p.Reference();
  const std::vector<float> naive = p.NaiveBf16();
  const double eps = 1.0 / 256, luck = eps / static_cast<double>(p.ExpectedRows());
  for (const KernelTable* table : TablesHere()) {
    LogProblem(p, *table);
    const RunResult got = RunProblem(p, *table, kBf16Class);
    RC_ASSERT(RootMeanSquare(got.out[0], exact.out) <= 2 * RootMeanSquare(naive, exact.out) + 1e-5 + luck);
    RC_ASSERT(LargestDifference(got.out[0], exact.out) <= 2 * LargestDifference(naive, exact.out) + 1e-3 + luck);
    RC_ASSERT(LargestDifference(got.lse[0], exact.lse) <= 0.05);
  }
}

// All sets give the same numbers: up to the order of sums in class f32; in class bf16 such a difference may also move a
// weight over a rounding edge, which is 1/256 of that weight.
RC_GTEST_PROP(EngineTest, AllTablesAgree, ()) {
  AttentionProblem p = AnyProblem();
  AddAnySequence(p);
  const RunResult f32 = RunProblem(p, *TablesHere()[0], kExact), bf16 = RunProblem(p, *TablesHere()[0], kBf16Class);
  for (const KernelTable* table : TablesHere()) {
    LogProblem(p, *table);
    const RunResult other_f32 = RunProblem(p, *table, kExact), other_bf16 = RunProblem(p, *table, kBf16Class);
    RC_ASSERT(LargestDifference(f32.out[0], other_f32.out[0]) <= 5e-6);
    RC_ASSERT(LargestDifference(f32.lse[0], other_f32.lse[0]) <= 5e-6);
    RC_ASSERT(LargestDifference(bf16.out[0], other_bf16.out[0]) <= 4e-3);
    RC_ASSERT(LargestDifference(bf16.lse[0], other_bf16.lse[0]) <= 4e-3);
  }
}

// Neither the number of threads nor the neighbours in a batch change a bit.
RC_GTEST_PROP(EngineTest, BitsDependOnTheSequenceAlone, ()) {
  AttentionProblem p = AnyProblem();
  const int sequences = *rc::gen::inRange(1, 5);
  for (int i = 0; i < sequences; ++i) AddAnySequence(p);
  const KernelTable* table = *rc::gen::elementOf(TablesHere());
  LogProblem(p, *table);
  for (RunOptions options : {kExact, kBf16Class}) {
    const RunResult batch = RunProblem(p, *table, options);
    RC_ASSERT(batch.counters.rows == p.ExpectedRows());
    for (int threads : {2, 3, 5}) {
      options.threads = threads;
      const RunResult other = RunProblem(p, *table, options);
      for (size_t i = 0; i < p.sequences.size(); ++i) {
        RC_ASSERT(SameBits(other.out[i], batch.out[i]));
        RC_ASSERT(SameBits(other.lse[i], batch.lse[i]));
      }
    }
    for (size_t i = 0; i < p.sequences.size(); ++i) {
      const RunResult alone = RunProblem(p.Alone(i), *table, options);
      RC_ASSERT(SameBits(alone.out[0], batch.out[i]));
      RC_ASSERT(SameBits(alone.lse[0], batch.lse[i]));
    }
  }
}

// Feeding a prompt in pieces is feeding it whole.
RC_GTEST_PROP(EngineTest, ChunkedPrefillIsOnePrefill, ()) {
  AttentionProblem p = AnyProblem();
  p.num_q_heads = p.num_kv_heads * *rc::gen::inRange<int64_t>(1, 4);
  if (p.mask.kind == MaskKind::kNone) p.mask = Mask::Causal();
  const int64_t length = *rc::gen::inRange<int64_t>(2, 200);
  const int64_t chunk = *rc::gen::inRange<int64_t>(1, length);
  p.AddRandomSequence(length, length, 5);
  const Sequence& whole = p.sequences[0];
  for (const KernelTable* table : TablesHere()) {
    LogProblem(p, *table);
    RC_LOG() << " chunk " << chunk;
    for (const RunOptions& options : {kExact, kBf16Class}) {
      std::vector<KvCache> caches;
      caches.push_back(MakeCache(p, whole, options.cache));
      const RunResult once = RunOver(p, caches, *table, options);
      std::vector<float> out, lse;
      for (int64_t begin = 0; begin < length; begin += chunk) {
        const int64_t end = std::min(length, begin + chunk), width = p.num_q_heads * p.head_dim;
        AttentionProblem part = p;
        part.sequences = {{end - begin, end, {whole.q.begin() + begin * width, whole.q.begin() + end * width}, {}, {}}};
        const RunResult piece = RunOver(part, caches, *table, options);
        out.insert(out.end(), piece.out[0].begin(), piece.out[0].end());
        lse.insert(lse.end(), piece.lse[0].begin(), piece.lse[0].end());
      }
      const double tolerance = options.compute == Compute::kF32 ? 5e-6 : 1e-2;
      RC_ASSERT(LargestDifference(out, once.out[0]) <= tolerance);
      RC_ASSERT(LargestDifference(lse, once.lse[0]) <= tolerance);
    }
  }
}

// What rapidcheck may leave out: every group size and every query count around the register tile.
TEST(EngineTest, EveryGroupSizeAndQueryCount) {
  for (const KernelTable* table : TablesHere()) {
    for (int64_t group = 1; group <= 16; ++group) {
      for (int64_t q_len : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
        AttentionProblem p{.num_q_heads = 2 * group, .num_kv_heads = 2, .head_dim = 20, .v_head_dim = 12};
        p.AddRandomSequence(q_len, 70, 3);
        const RunResult got = RunProblem(p, *table, kExact);
        ASSERT_LE(LargestDifference(got.out[0], p.Reference().out), 5e-6)
            << table->name << " " << group << " " << q_len;
      }
    }
  }
}

// Keys are split from 1025 on; one row more than a row tile is never split.
TEST(EngineTest, SplitKeysAreTheReference) {
  for (const KernelTable* table : TablesHere()) {
    for (int64_t kv_len : {1024, 1025, 2047, 2049, 3333}) {
      for (int64_t q_len : {1, 5}) {
        for (const Mask& mask : {Mask::Causal(), Mask::CausalWindow(1500), Mask::None()}) {
          AttentionProblem p{.num_q_heads = 3, .num_kv_heads = 1, .head_dim = 16, .v_head_dim = 16, .mask = mask};
          p.AddRandomSequence(q_len, kv_len, 4);
          const ReferenceResult exact = p.Reference();
          const RunResult got = RunProblem(p, *table, {Compute::kF32, DType::kF32, 2});
          ASSERT_LE(LargestDifference(got.out[0], exact.out), 5e-6) << table->name << " " << kv_len << " " << q_len;
          ASSERT_LE(LargestDifference(got.lse[0], exact.lse), 5e-6) << table->name << " " << kv_len << " " << q_len;
        }
      }
    }
  }
}

}  // namespace
}  // namespace attend
