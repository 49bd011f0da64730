// How attention kernels are known to fail, a test each; RowN is row PN of docs/conformance.md. Rows that other tests
// hold are not repeated here. Every cache format and class, on every instruction set.
#include <sys/mman.h>

#include <bit>
#include <limits>
#include <thread>

#include "attention/attention_test_util.h"
#include "cache/block_table.h"
#include "measure/case_data.h"

namespace attend {
namespace {

constexpr RunOptions kEveryFormat[] = {
    {Compute::kF32, DType::kF32},  {Compute::kF32, DType::kBf16}, {Compute::kF32, DType::kF16},
    {Compute::kF32, DType::kQ8},   {Compute::kF32, DType::kQ4},   {Compute::kBf16, DType::kBf16},
    {Compute::kBf16, DType::kF32}, {Compute::kBf16, DType::kF16}, {Compute::kBf16, DType::kQ8},
    {Compute::kBf16, DType::kQ4},  {Compute::kInt8, DType::kQ8},  {Compute::kInt8, DType::kQ4}};

// Between two runs of one class whose sums have another order.
double ToleranceOf(const RunOptions& options) {
  return options.compute == Compute::kF32 ? 2e-5 : options.compute == Compute::kBf16 ? 1e-2 : 4e-2;
}

std::string TextOf(const RunOptions& options) {
  return std::string(NameOf(options.compute)) + " over " + std::string(NameOf(options.cache));
}

// A run over views and options of any kind; one sequence or more.
RunResult RunViews(const AttentionProblem& p, const AttentionOptions& options, const std::vector<KvView>& views,
                   const KernelTable& table) {
  std::vector<int64_t> q_lens, kv_lens;
  std::vector<float> q;
  for (const Sequence& s : p.sequences) {
    q_lens.push_back(s.q_len);
    kv_lens.push_back(s.kv_len);
    q.insert(q.end(), s.q.begin(), s.q.end());
  }
  RunResult got;
  got.out.emplace_back(static_cast<size_t>(p.ExpectedRows() * p.v_head_dim), kNan);
  got.lse.emplace_back(static_cast<size_t>(p.ExpectedRows()), kNan);
  const auto schedule =
      ScheduleAttention({p.num_q_heads, p.num_kv_heads, p.head_dim, p.v_head_dim, q_lens, kv_lens}, options);
  EXPECT_TRUE(schedule) << (schedule ? "" : Describe(schedule.error()));
  ThreadPool pool(1);
  AttentionWorkspace workspace;
  const AttentionOutput output = {got.out[0].data(), p.num_q_heads * p.v_head_dim, got.lse[0].data()};
  EXPECT_TRUE(RunAttention(*schedule, {q.data(), p.num_q_heads * p.head_dim}, views, output, table, pool, workspace));
  return got;
}

// K and V of a sequence where they lie, or as 16-bit values that `memory` holds.
KvView RowsOf(const AttentionProblem& p, const Sequence& s, DType dtype = DType::kF32,
              std::vector<uint16_t>* memory = nullptr) {
  if (memory != nullptr) memory->reserve(s.k.size() + s.v.size());
  const auto tensor = [&](const std::vector<float>& x, int64_t width) {
    const void* data = x.data();
    if (memory != nullptr) {
      data = memory->data() + memory->size();
      for (float value : x) memory->push_back(dtype == DType::kF16 ? FloatToHalf(value) : FloatToBf16(value));
    }
    return PlainTensor{data, dtype, p.num_kv_heads * width, width, static_cast<int64_t>(x.size())};
  };
  return PlainKv(tensor(s.k, p.head_dim), tensor(s.v, p.v_head_dim), s.kv_len, p.num_kv_heads, p.head_dim,
                 p.v_head_dim);
}

class PitfallsTest : public EveryTable {};
ATTEND_FOR_EVERY_TABLE(PitfallsTest);

// Rows without any key in the first, a middle or the last block of queries, or everywhere; hidden by document, by tile
// or by a bias of -inf; with and without sinks.
TEST_P(PitfallsTest, Row1FullyMaskedRowsAreZeroWithLseMinusInfinityOrTheSink) {
  constexpr int64_t kQueries = 192, kKeys = 100;
  for (const int64_t hidden : {0, 1, 2, -1}) {
    const auto is_hidden = [&](int64_t query) { return hidden < 0 || query / 64 == hidden; };
    for (const std::string how : {"documents", "tiles", "bias"}) {
      for (const bool with_sinks : {false, true}) {
        AttentionProblem p{.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 8, .v_head_dim = 4, .mask = Mask::None()};
        if (with_sinks) p.sinks = {1.5f, -2.5f};
        p.AddRandomSequence(kQueries, kKeys, 1);
        std::vector<int32_t> q_documents, kv_documents(kKeys, 1), row_begins = {0}, key_tiles;
        for (int64_t query = 0; query < kQueries; ++query) q_documents.push_back(is_hidden(query) ? 7 : 1);
        for (int64_t block = 0; block < 3; ++block) {
          if (!is_hidden(block * 64)) key_tiles.insert(key_tiles.end(), {0, 1});
          row_begins.push_back(static_cast<int32_t>(key_tiles.size()));
        }
        const VisibleTiles tiles[] = {{row_begins, key_tiles}};
        if (how == "documents") p.mask.q_documents = q_documents, p.mask.kv_documents = kv_documents;
        if (how == "tiles") p.mask.tiles = tiles;
        for (int64_t i = 0; how == "bias" && i < 2 * kQueries * kKeys; ++i) {
          p.bias.push_back(is_hidden(i / kKeys % kQueries) ? -kInfinity : 0.0f);
        }
        for (const RunOptions& options : kEveryFormat) {
          SCOPED_TRACE(how + " block " + std::to_string(hidden) + " " + TextOf(options));
          const RunResult got = RunProblem(p, table(), options);
          for (int64_t row = 0; row < kQueries * 2; ++row) {
            const float nothing = with_sinks ? p.sinks[row % 2] : -kInfinity;
            for (int64_t c = 0; c < 4; ++c) {
              const float x = got.out[0][row * 4 + c];
              ASSERT_TRUE(is_hidden(row / 2) ? x == 0.0f : x != 0.0f && std::isfinite(x)) << row << ": " << x;
            }
            ASSERT_TRUE(is_hidden(row / 2) ? got.lse[0][row] == nothing : got.lse[0][row] > nothing) << row;
          }
        }
      }
    }
  }
}

// The running maximum is still -inf when the first visible key comes. The values before it would be noticed.
TEST_P(PitfallsTest, Row2MaskedBlocksBeforeVisibleOnesAreNotFelt) {
  AttentionProblem p{.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 8, .v_head_dim = 4, .mask = Mask::None()};
  p.AddRandomSequence(20, 300, 2);
  Sequence& s = p.sequences[0];
  for (size_t i = 0; i < s.v.size(); ++i) s.v[i] = i / 4 < 200 ? 1000.0f : 3.0f;
  std::vector<uint8_t> visible(300, 0);
  std::fill(visible.begin() + 200, visible.end(), 1);
  AttentionProblem padded = p, biased = p;
  padded.mask.key_is_visible = visible;
  for (int64_t i = 0; i < 2 * 20 * 300; ++i) biased.bias.push_back(i % 300 < 200 ? -kInfinity : 0.0f);
  for (const RunOptions& options : kEveryFormat) {
    for (const AttentionProblem& problem : {padded, biased}) {
      const RunResult got = RunProblem(problem, table(), options);
      for (float x : got.out[0]) ASSERT_NEAR(x, 3.0f, options.compute == Compute::kF32 ? 3e-3 : 2e-2);
      for (float x : got.lse[0]) ASSERT_NEAR(x, std::log(100.0f), 3.0f);
    }
  }
}

// A finite bias is a number like any other. In a row of them it decides nothing; beside larger scores its weight is 0
// exactly, as that of -inf is; and it does not hide visible keys whose scores are very negative.
TEST_P(PitfallsTest, Row3SentinelsHideKeysOnlyBesideOthers) {
  for (const float sentinel : {-1e4f, -5e4f, -1e30f, std::numeric_limits<float>::lowest(), -kInfinity}) {
    for (const RunOptions& options : {kExact, kBf16Class}) {
      SCOPED_TRACE(std::to_string(sentinel) + " " + TextOf(options));
      AttentionProblem p{.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 1, .v_head_dim = 1, .mask = Mask::None()};
      p.scale = 1;
      Sequence s = {3, 150, {1.0f, 1.0f, 1.0f}, std::vector<float>(150, 0.5f), std::vector<float>(150, 2.0f)};
      // Row 0: sentinels everywhere. Row 1: on all but the last key. Row 2: none.
      p.bias.assign(3 * 150, 0.0f);
      std::fill(p.bias.begin(), p.bias.begin() + 299, sentinel);
      s.v[149] = 5.0f;
      p.sequences = {s};
      const RunResult got = RunProblem(p, table(), options);
      const bool hides = std::isinf(sentinel);
      EXPECT_NEAR(got.out[0][0], hides ? 0.0f : 2.02f, 1e-2);
      EXPECT_TRUE(hides ? got.lse[0][0] == -kInfinity
                        : std::abs(got.lse[0][0] - sentinel - 5.5f) < 1e-3f - 1e-6f * sentinel);
      EXPECT_EQ(got.out[0][1], 5.0f);
      EXPECT_NEAR(got.lse[0][1], 0.5f, 1e-6);
      const std::vector<float> weights = WeightsOf(p, table(), options, got.lse[0]);
      for (int64_t key = 0; key < 149; ++key) ASSERT_EQ(weights[150 + key], 0.0f) << key;
      EXPECT_NEAR(weights[299], 1.0f, 1e-6);
      // Visible scores of -20000 after two blocks of sentinels.
      if (sentinel > -1e5f) continue;
      std::fill(p.sequences[0].k.begin(), p.sequences[0].k.end(), -20000.0f);
      const RunResult low = RunProblem(p, table(), options);
      EXPECT_EQ(low.out[0][1], 5.0f);
      EXPECT_NEAR(low.lse[0][1], -20000.0f, 100.0f);  // bf16 holds -19968
    }
  }
}

// NaN and infinity in q, K or V, in caches and over a caller's rows: exactly the rows that see it.
TEST_P(PitfallsTest, Row4NanAndInfinityReachExactlyTheRowsThatSeeThem) {
  for (const int64_t q_len : {5, 70}) {
    AttentionProblem p{.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 18, .v_head_dim = 10};
    p.AddRandomSequence(q_len, 130, 7);
    constexpr int64_t kKey = 127;  // seen by the last three queries
    const auto expect = [&](const AttentionProblem& bad, const RunOptions& options, bool rows, const auto& is_bad) {
      const Sequence& s = bad.sequences[0];
      std::vector<uint16_t> halves;
      const auto over_rows = [&] {
        const KvView view = RowsOf(bad, s, options.cache, options.cache == DType::kF32 ? nullptr : &halves);
        return RunViews(bad, bad.OptionsOf(options.compute), {view}, table());
      };
      const RunResult got = rows ? over_rows() : RunProblem(bad, table(), options);
      for (size_t i = 0; i < got.out[0].size(); ++i) {
        const int64_t query = static_cast<int64_t>(i) / 20, head = static_cast<int64_t>(i) / 10 % 2;
        ASSERT_EQ(!std::isfinite(got.out[0][i]), is_bad(query, head, static_cast<int64_t>(i) % 10))
            << TextOf(options) << (rows ? " rows" : "") << " query " << query << " head " << head << " column "
            << i % 10;
      }
    };
    for (const RunOptions& options : kEveryFormat) {
      for (const bool rows : {false, true}) {
        if (rows && IsQuantisedKv(options.cache)) continue;
        const auto sees = [&](int64_t query) { return query + 130 - q_len >= kKey; };
        for (const float value : {kNan, std::bit_cast<float>(0x7fffffffu), kInfinity, -kInfinity}) {
          AttentionProblem bad = p;
          bad.sequences[0].v[kKey * 10 + 3] = value;  // its column alone, or all that share a scale with it
          expect(bad, options, rows, [&](int64_t query, int64_t, int64_t column) {
            return sees(query) && (column == 3 || IsQuantisedKv(options.cache));
          });
          bad = p;
          bad.sequences[0].q[((q_len - 2) * 2 + 1) * 18 + 4] = value;
          expect(bad, options, rows,
                 [&](int64_t query, int64_t head, int64_t) { return query == q_len - 2 && head == 1; });
          bad = p;
          bad.sequences[0].k[kKey * 18 + 17] = value;
          // Infinity in K is a score of infinity where q has the sign for it, and a weight of 0 where not.
          expect(bad, options, rows, [&](int64_t query, int64_t head, int64_t) {
            const float q = p.sequences[0].q[(query * 2 + head) * 18 + 17];
            return sees(query) && (std::isnan(value) || IsQuantisedKv(options.cache) || q * value > 0);
          });
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Equal scores and the unit matrix for V: the output is the row of weights. W keys, the query's own included.
void ExpectWindowKeys(const Mask& mask, const KernelTable& table) {
  SCOPED_TRACE("window " + std::to_string(mask.window_left) + "," + std::to_string(mask.window_right));
  AttentionProblem p{.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 1, .v_head_dim = 48, .mask = mask};
  for (const auto& [q_len, kv_len] : {std::pair{48, 48}, std::pair{7, 30}, std::pair{48, 30}}) {
    const auto fill = [](int64_t n, float x) { return std::vector<float>(static_cast<size_t>(n), x); };
    p.sequences.push_back({q_len, kv_len, fill(q_len, 0), fill(kv_len, 1), fill(kv_len * 48, 0)});
    for (int64_t key = 0; key < kv_len; ++key) p.sequences.back().v[key * 49] = 1.0f;
  }
  const RunResult got = RunProblem(p, table, kExact);
  for (size_t i = 0; i < p.sequences.size(); ++i) {
    const Sequence& s = p.sequences[i];
    for (int64_t query = 0; query < s.q_len; ++query) {
      const int64_t position = query + s.kv_len - s.q_len,
                    right = mask.kind == MaskKind::kCausal ? 0 : mask.window_right;
      float count = 0, sees[48] = {};
      for (int64_t key = 0; key < s.kv_len; ++key) {
        const bool before = mask.window_left < 0 || position - key <= mask.window_left;
        count += sees[key] = before && (right < 0 || key - position <= right) ? 1.0f : 0.0f;
      }
      for (int64_t key = 0; key < 48; ++key) {
        ASSERT_NEAR(got.out[i][query * 48 + key], sees[key] / std::max(1.0f, count), 1e-6)
            << "sequence " << i << " query " << query << " key " << key;
      }
    }
  }
}

TEST_P(PitfallsTest, Row6WindowsHoldExactlyTheirKeys) {
  for (const int64_t left : {-1, 0, 1, 15, 16, 47, 48, 1000}) {
    ExpectWindowKeys({.kind = MaskKind::kCausal, .window_left = left}, table());
    for (const int64_t right : {-1, 0, 1, 20, 1000}) {
      ExpectWindowKeys({.window_left = left, .window_right = right}, table());
    }
  }
}

TEST_P(PitfallsTest, Row6TheLargestWindowHoldsAllKeys) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  ExpectWindowKeys({.kind = MaskKind::kCausal, .window_left = kLargest}, table());
  ExpectWindowKeys({.window_left = kLargest}, table());
  ExpectWindowKeys({.window_right = kLargest}, table());
}

// The short sequence of a batch is padded on its right; late windows hold nothing but padding.
TEST_P(PitfallsTest, Row7WindowsWhollyInsidePaddingSeeNothing) {
  AttentionProblem p{
      .num_q_heads = 2, .num_kv_heads = 1, .head_dim = 8, .v_head_dim = 4, .mask = Mask::CausalWindow(8)};
  p.AddRandomSequence(90, 90, 3);
  p.AddRandomSequence(90, 90, 4);
  for (float& x : p.sequences[1].v) x = 1.0f + std::abs(x);  // never 0 in 4 bits
  std::vector<uint8_t> visible(180, 1);
  std::fill(visible.begin() + 90 + 10, visible.end(), 0);
  for (const RunOptions& options : kEveryFormat) {
    SCOPED_TRACE(TextOf(options));
    const RunResult unpadded = RunProblem(p, table(), options);
    AttentionProblem padded = p;
    padded.mask.key_is_visible = visible;
    const RunResult got = RunProblem(padded, table(), options);
    EXPECT_LE(LargestDifference(got.out[0], unpadded.out[0]), ToleranceOf(options));
    for (int64_t row = 0; row < 180; ++row) {
      const bool sees = row / 2 < 10 + 7;
      ASSERT_EQ(std::isfinite(got.lse[1][row]), sees) << row;
      for (int64_t c = 0; c < 4; ++c) ASSERT_EQ(got.out[1][row * 4 + c] != 0.0f, sees) << row;
    }
  }
}

// V has a mean of 1: an accumulator that stalls, or a denominator that is not the sum of the weights, shows.
TEST_P(PitfallsTest, Row8UniformAttentionOver131072KeysIsOne) {
  constexpr int64_t kKeys = 131072;
  AttentionProblem p{.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 4, .v_head_dim = 3};
  p.sequences.push_back({1, kKeys, std::vector<float>(8, 0.7f), std::vector<float>(kKeys * 4, 1.3f),
                         std::vector<float>(kKeys * 3, 1.0f)});
  for (const RunOptions& options : kEveryFormat) {
    const RunResult got = RunProblem(p, table(), options);
    for (float x : got.out[0]) ASSERT_NEAR(x, 1.0f, options.cache == DType::kF32 ? 1e-5 : 5e-3) << TextOf(options);
  }
}

// exp(2 x / c) overflows and underflows; the cap bounds the scores before the mask takes keys away.
TEST_P(PitfallsTest, Row9SoftcapsHoldForScoresOfAnySize) {
  for (const float cap : {50.0f, 0.5f, 1e-3f, 1e-20f, 1e-37f}) {
    for (const float size : {1.0f, 30.0f, 1e8f}) {
      AttentionProblem p{
          .num_q_heads = 2, .num_kv_heads = 1, .head_dim = 4, .v_head_dim = 4, .mask = Mask::CausalWindow(20)};
      p.softcap = cap;
      p.AddRandomSequence(17, 90, 5, size);
      std::fill_n(p.sequences[0].q.begin(), 8, 0.0f);  // scores of 0
      const RunResult got = RunProblem(p, table(), kExact);
      const ReferenceResult exact = p.Reference();
      EXPECT_LE(LargestDifference(got.out[0], exact.out), 5e-5) << cap << " " << size;
      EXPECT_LE(LargestDifference(got.lse[0], exact.lse), 5e-5) << cap << " " << size;
    }
  }
}

TEST_P(PitfallsTest, Row9TheSmallestSoftcapMakesAllScoresEqual) {
  AttentionProblem p{.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 4, .v_head_dim = 4};
  p.softcap = std::numeric_limits<float>::denorm_min();
  p.AddRandomSequence(3, 30, 6);
  std::fill_n(p.sequences[0].q.begin(), 4, 0.0f);
  EXPECT_LE(LargestDifference(RunProblem(p, table(), kExact).out[0], p.Reference().out), 1e-5);
}

// Every format of K with every one of V, in one cache and scattered over a pool; the last block is not full, head
// dimensions are no multiple of a tile. Class f32 is the formula over what the cache holds.
TEST_P(PitfallsTest, Row14PagedQuantisedCachesWithOddTails) {
  const auto cases = ParseAttentionCases(
      "heads=4/2 dim={40/24|17/5|64} q={1|20} kv={1|65|150} mask=causal layout=paged compute={f32|bf16|int8} "
      "cache={q8|q4|q8,q4|q4,q8|bf16,q4|q4,f16|q8/32|q4/32}",
      {});
  ASSERT_TRUE(cases);
  for (const AttentionCase& c : *cases) {
    SCOPED_TRACE(c.text);
    const CaseData data = *CaseData::Make(c, 1);
    AttentionProblem p{.num_q_heads = 4, .num_kv_heads = 2, .head_dim = c.head_dim, .v_head_dim = c.v_head_dim};
    p.sequences.push_back({c.q_lens[0], c.kv_lens[0], data.QueryValues(0), data.KeyValues(0), data.ValueValues(0)});
    const RunResult got = RunViews(p, data.options(), data.caches(0), table());
    const ReferenceResult exact = p.Reference();
    ASSERT_LE(LargestDifference(got.out[0], exact.out), ToleranceOf({.compute = c.compute}));
  }
}

// Keys are split; some parts, or all, hold hidden keys only. The sink enters once.
TEST_P(PitfallsTest, Row17PartsWithoutVisibleKeysAreNotFelt) {
  AttentionProblem p{.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 8, .v_head_dim = 4, .mask = Mask::None()};
  p.AddRandomSequence(2, 2000, 19);
  for (const auto& [begin, end] : {KeyRange{0, 2000}, KeyRange{0, 600}, KeyRange{512, 1100}, KeyRange{1400, 2000}}) {
    std::vector<uint8_t> visible(2000, 1);
    std::fill(visible.begin() + begin, visible.begin() + end, 0);
    p.mask.key_is_visible = visible;
    for (const bool with_sinks : {false, true}) {
      p.sinks = with_sinks ? std::vector<float>{7.0f, 8.0f} : std::vector<float>();
      ReferenceCall call = p.CallOf(p.sequences[0]);
      call.visible = [&](int64_t, int64_t key) { return visible[key] != 0; };
      const ReferenceResult exact = ReferenceAttention(call);
      for (const RunOptions& options : kEveryFormat) {
        const bool exactly = options.compute == Compute::kF32 && options.cache == DType::kF32;
        const double tolerance = end - begin == 2000 ? 0 : exactly ? 1e-5 : 0.1;
        const RunResult got = RunProblem(p, table(), options);
        EXPECT_LE(LargestDifference(got.out[0], exact.out), tolerance) << TextOf(options) << " from " << begin;
        EXPECT_LE(LargestDifference(got.lse[0], exact.lse), tolerance) << TextOf(options) << " from " << begin;
      }
    }
  }
}

// Address space; memory comes when it is written.
class SparseFloats {
 public:
  explicit SparseFloats(int64_t count) : bytes_(static_cast<size_t>(count) * sizeof(float)) {
    void* const memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data_ = memory == MAP_FAILED ? nullptr : static_cast<float*>(memory);
  }
  ~SparseFloats() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  SparseFloats(const SparseFloats&) = delete;
  SparseFloats& operator=(const SparseFloats&) = delete;
  float* data() const { return data_; }

 private:
  size_t bytes_;
  float* data_;
};

constexpr const char* kNoSpace =
    "mmap refused the address space of more than 2^31 values: ulimit -v, or a system of 32 bits";
constexpr int64_t kFar = (int64_t{1} << 31) + 24;  // values: beyond 32 bits, signed in values and unsigned in bytes

TEST_P(PitfallsTest, Row15PlainRowsFurtherApartThan31Bits) {
  for (const bool few : {true, false}) {  // rows: read key by key, or through an unpacked tile
    AttentionProblem p{.num_q_heads = 2, .num_kv_heads = 2, .head_dim = 4, .v_head_dim = 4, .mask = Mask::None()};
    p.AddRandomSequence(few ? 2 : 30, 3, 9);
    const Sequence& s = p.sequences[0];
    // Tokens far apart, or heads.
    for (const auto& [token_stride, head_stride] : {std::pair{kFar, int64_t{8}}, std::pair{int64_t{8}, kFar}}) {
      const int64_t size = 2 * token_stride + head_stride + 4;
      const SparseFloats k(size), v(size);
      if (k.data() == nullptr || v.data() == nullptr) GTEST_SKIP() << kNoSpace;
      for (int64_t at = 0; at < 6; ++at) {
        const int64_t to = at / 2 * token_stride + at % 2 * head_stride;
        std::copy_n(s.k.begin() + at * 4, 4, k.data() + to);
        std::copy_n(s.v.begin() + at * 4, 4, v.data() + to);
      }
      const KvView view = PlainKv({k.data(), DType::kF32, token_stride, head_stride, size},
                                  {v.data(), DType::kF32, token_stride, head_stride, size}, 3, 2, 4, 4);
      const RunResult got = RunViews(p, p.OptionsOf(Compute::kF32), {view}, table());
      EXPECT_LE(LargestDifference(got.out[0], p.Reference().out), 1e-5);
    }
  }
}

TEST_P(PitfallsTest, Row15BiasAndQueriesAndOutputBeyond31Bits) {
  AttentionProblem p{.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 4, .v_head_dim = 4, .mask = Mask::None()};
  p.bias = RandomRow(2 * 3 * 5, 1);
  p.AddRandomSequence(3, 5, 10);
  const Sequence& s = p.sequences[0];
  const ReferenceResult exact = p.Reference();
  const SparseFloats bias(3 * kFar), q(2 * kFar + 8), out(2 * kFar + 8);
  if (bias.data() == nullptr || q.data() == nullptr || out.data() == nullptr) GTEST_SKIP() << kNoSpace;
  AttentionOptions options = p.OptionsOf(Compute::kF32);
  for (const auto& [head_stride, query_stride] : {std::pair{kFar, int64_t{8}}, std::pair{int64_t{8}, kFar}}) {
    options.bias = {.data = bias.data(), .head_stride = head_stride, .query_stride = query_stride, .size = 3 * kFar};
    for (int64_t row = 0; row < 6; ++row) {
      std::copy_n(p.bias.begin() + row * 5, 5, bias.data() + row / 3 * head_stride + row % 3 * query_stride);
    }
    EXPECT_LE(LargestDifference(RunViews(p, options, {RowsOf(p, s)}, table()).out[0], exact.out), 1e-5);
  }
  for (int64_t token = 0; token < 3; ++token) std::copy_n(s.q.begin() + token * 8, 8, q.data() + token * kFar);
  const std::vector<int64_t> q_lens = {3}, kv_lens = {5};
  const KvView views[] = {RowsOf(p, s)};
  ThreadPool pool(1);
  AttentionWorkspace workspace;
  ASSERT_TRUE(RunAttention(*ScheduleAttention({2, 1, 4, 4, q_lens, kv_lens}, options), {q.data(), kFar}, views,
                           {.out = out.data(), .stride = kFar}, table(), pool, workspace));
  for (int64_t i = 0; i < 24; ++i) EXPECT_NEAR(out.data()[i / 8 * kFar + i % 8], exact.out[i], 1e-5);
}

// Blocks of 3 GiB, and a layer that begins 2.5 GiB into its block.
TEST_P(PitfallsTest, Row15BlocksFurtherApartThan31Bits) {
  constexpr int64_t kBlockBytes = int64_t{3} << 30, kLayerOffset = int64_t{5} << 29;
  AttentionProblem p{.num_q_heads = 2, .num_kv_heads = 2, .head_dim = 8, .v_head_dim = 4};
  p.AddRandomSequence(5, 130, 11);
  for (const RunOptions& options : kEveryFormat) {
    const KvCache cache = MakeCache(p, p.sequences[0], options.cache);
    const SparseFloats pool(3 * kBlockBytes / 4);
    if (pool.data() == nullptr) GTEST_SKIP() << kNoSpace;
    KvView view = cache.View(0);
    uint8_t* const bytes = reinterpret_cast<uint8_t*>(pool.data());
    const std::vector<int32_t> block_table = {2, 0, 1};
    for (int64_t i = 0; i < 3; ++i) {
      std::memcpy(bytes + block_table[i] * kBlockBytes + kLayerOffset, view.blocks[i], cache.allocated_bytes() / 3);
    }
    const auto blocks = BlocksOf({bytes, 3, kBlockBytes}, block_table, 130);
    ASSERT_TRUE(blocks);
    view.blocks = blocks->data();
    view.layer_offset = kLayerOffset;
    const RunResult got = RunViews(p, p.OptionsOf(options.compute), {view}, table());
    EXPECT_TRUE(SameBits(got.out[0], RunProblem(p, table(), options).out[0])) << TextOf(options);
  }
}

// One unit for many threads, many units for one, more threads than any limit once was; callers side by side.
TEST_P(PitfallsTest, Row18AnyNumberOfThreadsEndsWithTheSameBits) {
  for (const auto& [q_len, kv_len] : {std::pair{1, 10}, std::pair{700, 700}, std::pair{0, 10}}) {
    AttentionProblem p{.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 8, .v_head_dim = 8};
    p.AddRandomSequence(q_len, kv_len, 1);
    const RunResult one = RunProblem(p, table(), kExact);
    for (int threads : {2, 5, 17, 40}) {
      EXPECT_TRUE(SameBits(RunProblem(p, table(), {Compute::kF32, DType::kF32, threads}).out[0], one.out[0]))
          << threads;
    }
    std::vector<RunResult> results(4);
    std::vector<std::thread> callers;
    for (RunResult& result : results) {
      callers.emplace_back([&] { result = RunProblem(p, table(), {Compute::kF32, DType::kF32, 5}); });
    }
    for (std::thread& caller : callers) caller.join();
    for (const RunResult& result : results) EXPECT_TRUE(SameBits(result.out[0], one.out[0]));
  }
}

// Broadcast along any axes, in any type: the bits of the bias written out in full.
TEST_P(PitfallsTest, Row21BroadcastBiasIsTheCopiedOne) {
  constexpr int64_t kHeads = 2, kQueries = 9, kKeys = 70, kSequences = 2;
  AttentionProblem p{.num_q_heads = kHeads, .num_kv_heads = 1, .head_dim = 8, .v_head_dim = 4};
  std::vector<KvCache> caches;
  for (uint32_t i = 0; i < kSequences; ++i) {
    p.AddRandomSequence(kQueries, kKeys, 14 + i);
    caches.push_back(MakeCache(p, p.sequences[i], DType::kF32));
  }
  const std::vector<KvView> views = {caches[0].View(0), caches[1].View(0)};
  for (int axes = 0; axes < 16; ++axes) {
    int64_t size = 1;
    const auto stride_of = [&](int axis, int64_t extent) {
      const int64_t stride = (axes >> axis & 1) != 0 ? size : 0;
      if (stride != 0) size *= extent;
      return stride;
    };
    AttentionBias bias;
    bias.key_stride = stride_of(0, kKeys);
    bias.query_stride = stride_of(1, kQueries);
    bias.head_stride = stride_of(2, kHeads);
    bias.sequence_stride = stride_of(3, kSequences);
    bias.size = size;
    std::vector<float> values = RandomRow(size, 15), full;
    for (float& x : values) x = std::round(x * 8) / 8;  // exact in every type
    for (int64_t i = 0; i < kSequences * kHeads * kQueries * kKeys; ++i) {
      full.push_back(values[i % kKeys * bias.key_stride + i / kKeys % kQueries * bias.query_stride +
                            i / kKeys / kQueries % kHeads * bias.head_stride +
                            i / kKeys / kQueries / kHeads * bias.sequence_stride]);
    }
    AttentionOptions options = p.OptionsOf(Compute::kF32);
    options.bias = {.data = full.data(),
                    .sequence_stride = kHeads * kQueries * kKeys,
                    .head_stride = kQueries * kKeys,
                    .query_stride = kKeys,
                    .size = static_cast<int64_t>(full.size())};
    const RunResult copied = RunViews(p, options, views, table());
    std::vector<double> exact;
    for (size_t i = 0; i < kSequences; ++i) {
      AttentionProblem alone = p.Alone(i);
      const auto begin = full.begin() + static_cast<int64_t>(i * full.size() / kSequences);
      alone.bias.assign(begin, begin + static_cast<int64_t>(full.size() / kSequences));
      const std::vector<double> out = alone.Reference().out;
      exact.insert(exact.end(), out.begin(), out.end());
    }
    EXPECT_LE(LargestDifference(copied.out[0], exact), 1e-5) << "axes " << axes;
    std::vector<uint16_t> f16, bf16;
    for (float x : values) f16.push_back(FloatToHalf(x)), bf16.push_back(FloatToBf16(x));
    for (const auto& [dtype, data] : {std::pair<DType, const void*>{DType::kF32, values.data()},
                                      {DType::kF16, f16.data()},
                                      {DType::kBf16, bf16.data()}}) {
      options.bias = bias;
      options.bias.dtype = dtype;
      options.bias.data = data;
      const RunResult got = RunViews(p, options, views, table());
      EXPECT_TRUE(SameBits(got.out[0], copied.out[0])) << NameOf(dtype) << " axes " << axes;
      EXPECT_TRUE(SameBits(got.lse[0], copied.lse[0])) << NameOf(dtype) << " axes " << axes;
    }
  }
}

// Sums of exp(-80): anything added to the denominator would be larger than it.
TEST_P(PitfallsTest, Row23DenominatorsHaveNoEpsilon) {
  for (const bool by_bias : {true, false}) {
    AttentionProblem p{
        .num_q_heads = 2, .num_kv_heads = 1, .head_dim = 1, .v_head_dim = 4, .mask = Mask::None(), .scale = 1};
    p.AddRandomSequence(5, 90, 17, 0.5f);
    Sequence& s = p.sequences[0];
    if (by_bias) p.bias.assign(2 * 5 * 90, -80.0f);
    for (size_t i = 0; !by_bias && i < s.k.size(); ++i) s.k[i] = -80.0f + s.k[i];
    for (size_t i = 0; !by_bias && i < s.q.size(); ++i) s.q[i] = 1.0f;
    for (const bool with_sink : {false, true}) {
      if (with_sink) p.sinks = {-80.0f, -76.0f};
      const ReferenceResult exact = p.Reference();
      const RunResult got = RunProblem(p, table(), kExact);
      EXPECT_LE(LargestDifference(got.out[0], exact.out), 2e-5);
      EXPECT_LE(LargestDifference(got.lse[0], exact.lse), 2e-5);
    }
  }
}

// Hidden keys, keys beyond the length and gaps between rows hold NaN; no row feels it.
TEST_P(PitfallsTest, Row26PaddingStaleKeysAndGapsAreNeverRead) {
  for (const int64_t q_len : {3, 40}) {
    AttentionProblem p{.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 12, .v_head_dim = 8, .mask = Mask::None()};
    p.AddRandomSequence(q_len, 150, 18);
    std::vector<uint8_t> visible;
    for (int64_t key = 0; key < 150; ++key) visible.push_back(key < 20 || key % 7 == 3 ? 0 : 1);
    p.mask.key_is_visible = visible;
    AttentionProblem dirty = p;
    Sequence& s = dirty.sequences[0];
    s.k.resize(180 * 12, kNan);  // stale: the cache has more tokens than the sequence
    s.v.resize(180 * 8, kNan);
    for (int64_t key = 0; key < 150; ++key) {
      if (visible[key] != 0) continue;
      std::fill_n(s.k.begin() + key * 12, 12, key % 2 == 0 ? kNan : kInfinity);
      std::fill_n(s.v.begin() + key * 8, 8, kNan);
    }
    for (const RunOptions& options : kEveryFormat) {
      const RunResult clean = RunProblem(p, table(), options), got = RunProblem(dirty, table(), options);
      EXPECT_LE(LargestDifference(got.out[0], clean.out[0]), ToleranceOf(options)) << TextOf(options) << " " << q_len;
      EXPECT_LE(LargestDifference(got.lse[0], clean.lse[0]), ToleranceOf(options)) << TextOf(options) << " " << q_len;
    }
    std::vector<float> gaps(151 * 40, kNan);  // K in columns 3..15, V in 20..28 of each token
    for (int64_t key = 0; key < 150; ++key) {
      std::copy_n(s.k.begin() + key * 12, 12, gaps.begin() + key * 40 + 3);
      std::copy_n(s.v.begin() + key * 8, 8, gaps.begin() + key * 40 + 20);
    }
    const KvView view = PlainKv({gaps.data() + 3, DType::kF32, 40, 0, 6000},
                                {gaps.data() + 20, DType::kF32, 40, 0, 6000}, 150, 1, 12, 8);
    const RunResult rows = RunViews(dirty, dirty.OptionsOf(Compute::kF32), {view}, table());
    EXPECT_LE(LargestDifference(rows.out[0], RunProblem(p, table(), kExact).out[0]), 1e-5) << q_len;
  }
}

}  // namespace
}  // namespace attend
