// Row statistics and maps against the whole attention matrix in double precision, on every instruction set.
#include "attention/statistics.h"

#include "attention/attention_test_util.h"

namespace attend {
namespace {

constexpr RunOptions kInt8Class = {Compute::kInt8, DType::kQ8, 2};

// How far a figure may be off: float32 sums, or weights rounded to the class.
struct Tolerance {
  double lse, mass, entropy, distance_of_key;  // the last: tokens a key of the sequence
};
Tolerance ToleranceOf(Compute compute) {
  if (compute == Compute::kF32) return {1e-5, 1e-5, 5e-5, 3e-6};
  return {2e-2, 2e-2, 6e-2, 2e-2};
}

struct ObservedRun {
  ObservedRun(const AttentionProblem& p, const RunOptions& options, const KernelTable& table,
              const StatisticsCollector::Options& wanted = {}) {
    for (const Sequence& s : p.sequences) {
      caches.push_back(MakeCache(p, s, options.cache));
      views.push_back(caches.back().View(0));
      q_lens.push_back(s.q_len);
      kv_lens.push_back(s.kv_len);
      q.insert(q.end(), s.q.begin(), s.q.end());
    }
    collector = std::make_unique<StatisticsCollector>(p.num_q_heads, q_lens, kv_lens, wanted);
    const AttentionShape shape = {p.num_q_heads, p.num_kv_heads, p.head_dim, p.v_head_dim, q_lens, kv_lens};
    const auto schedule = ScheduleAttention(shape, p.OptionsOf(options.compute));
    EXPECT_TRUE(schedule) << (schedule ? "" : Describe(schedule.error()));
    std::vector<float> out(static_cast<size_t>(p.ExpectedRows() * p.v_head_dim));
    ThreadPool pool(options.threads);
    AttentionWorkspace workspace;
    const AttentionOutput output = {
        .out = out.data(), .stride = p.num_q_heads * p.v_head_dim, .observer = collector.get()};
    EXPECT_TRUE(RunAttention(*schedule, {q.data(), p.num_q_heads * p.head_dim}, views, output, table, pool, workspace));
  }

  std::vector<KvCache> caches;
  std::vector<KvView> views;
  std::vector<int64_t> q_lens, kv_lens;
  std::vector<float> q;
  std::unique_ptr<StatisticsCollector> collector;
};

// The exact weights [q_len, Hq, kv_len] and lse over what the cache holds.
ReferenceResult ReferenceOf(const AttentionProblem& p, const ObservedRun& run, size_t i, const VisibleFn& visible) {
  Sequence stored = p.sequences[i];
  std::vector<float> k(static_cast<size_t>(p.head_dim)), v(static_cast<size_t>(p.v_head_dim));
  for (int64_t at = 0; at < stored.kv_len * p.num_kv_heads; ++at) {
    run.caches[i].Read(0, at % p.num_kv_heads, at / p.num_kv_heads, k.data(), v.data());
    std::copy(k.begin(), k.end(), stored.k.begin() + at * p.head_dim);
  }
  ReferenceCall call = p.CallOf(stored);
  call.visible = visible;
  return ReferenceAttention(call);
}

RowStatistics ExpectedRow(const double* p, const Sequence& s, int64_t query, const ObserverWants& wants) {
  const int64_t position = query + s.kv_len - s.q_len;
  double largest = 0, entropy = 0, first = 0, near = 0, distance = 0;
  RowStatistics row;
  for (int64_t key = 0; key < s.kv_len; ++key) {
    if (p[key] > largest) {
      largest = p[key];
      row.largest_key = key;
    }
    if (p[key] > 0) entropy -= p[key] * std::log(p[key]);
    if (key < wants.num_first_keys) first += p[key];
    if (key > position - wants.num_near_keys && key <= position) near += p[key];
    distance += p[key] * static_cast<double>(position - key);
  }
  row.largest_weight = static_cast<float>(largest);
  row.entropy = static_cast<float>(entropy);
  row.first_mass = static_cast<float>(first);
  row.near_mass = static_cast<float>(near);
  row.mean_distance = static_cast<float>(distance);
  return row;
}

void ExpectRows(const AttentionProblem& p, const ObservedRun& run, size_t i, const ReferenceResult& exact,
                const Tolerance& t) {
  const Sequence& s = p.sequences[i];
  const auto rows = run.collector->rows(static_cast<int64_t>(i));
  ASSERT_EQ(static_cast<int64_t>(rows.size()), s.q_len * p.num_q_heads);
  for (int64_t at = 0; at < s.q_len * p.num_q_heads; ++at) {
    const double* weights = exact.weights.data() + at * s.kv_len;
    const RowStatistics expected = ExpectedRow(weights, s, at / p.num_q_heads, run.collector->wants());
    const RowStatistics& got = rows[at];
    SCOPED_TRACE("query " + std::to_string(at / p.num_q_heads) + " head " + std::to_string(at % p.num_q_heads));
    if (expected.largest_key < 0) {
      ASSERT_EQ(got.lse, static_cast<float>(exact.lse[at]));
      for (float x : {got.largest_weight, got.entropy, got.first_mass, got.near_mass, got.mean_distance})
        ASSERT_EQ(x, 0.0f);
      ASSERT_EQ(got.largest_key, -1);
      continue;
    }
    ASSERT_NEAR(got.lse, exact.lse[at], t.lse * std::max(1.0, std::abs(exact.lse[at])));
    ASSERT_NEAR(got.largest_weight, expected.largest_weight, t.mass);
    ASSERT_GE(got.largest_key, 0);
    ASSERT_NEAR(weights[got.largest_key], expected.largest_weight, t.mass) << "key " << got.largest_key;
    ASSERT_NEAR(got.entropy, expected.entropy, t.entropy);
    ASSERT_NEAR(got.first_mass, expected.first_mass, t.mass);
    ASSERT_NEAR(got.near_mass, expected.near_mass, t.mass);
    ASSERT_NEAR(got.mean_distance, expected.mean_distance, t.distance_of_key * static_cast<double>(s.kv_len) + 1e-5);
  }
}

void ExpectMaps(const AttentionProblem& p, const ObservedRun& run, size_t i, const ReferenceResult& exact,
                const Tolerance& t) {
  const Sequence& s = p.sequences[i];
  const MapShape& shape = run.collector->map_shape(static_cast<int64_t>(i));
  for (int64_t head = 0; head < p.num_q_heads; ++head) {
    std::vector<double> expected(static_cast<size_t>(shape.num_rows * shape.num_columns), 0.0);
    std::vector<double> mass(static_cast<size_t>(shape.num_rows), 0.0);
    for (int64_t query = 0; query < s.q_len; ++query) {
      const double* weights = exact.weights.data() + (query * p.num_q_heads + head) * s.kv_len;
      const int64_t row = query / shape.cell_tokens;
      for (int64_t key = 0; key < s.kv_len; ++key) {
        expected[row * shape.num_columns + key / shape.cell_tokens] += weights[key];
        mass[row] += weights[key];
      }
    }
    const std::vector<double> got = run.collector->Map(static_cast<int64_t>(i), head);
    ASSERT_EQ(got.size(), expected.size());
    const double queries = static_cast<double>(std::min(shape.cell_tokens, s.q_len));
    for (int64_t row = 0; row < shape.num_rows; ++row) {
      double sum = 0;
      for (int64_t column = 0; column < shape.num_columns; ++column) {
        const int64_t cell = row * shape.num_columns + column;
        ASSERT_NEAR(got[cell], expected[cell], t.mass * queries) << "head " << head << " cell " << row << "," << column;
        sum += got[cell];
      }
      // Without a sink the mass is the number of queries that see something; a sink's share has the error of lse.
      const double share = p.sinks.empty() ? 1e-3 : 1e-3 + t.mass;
      ASSERT_NEAR(sum, mass[row], share * mass[row]) << "head " << head << " row " << row;
    }
  }
}

void ExpectStatistics(const AttentionProblem& p, const RunOptions& options, const KernelTable& table,
                      const VisibleFn& visible = nullptr) {
  const ObservedRun run(p, options, table);
  for (size_t i = 0; i < p.sequences.size(); ++i) {
    SCOPED_TRACE("sequence " + std::to_string(i) + " class " + std::string(NameOf(options.compute)));
    const VisibleFn sees = visible ? visible : p.VisibleOf(p.sequences[i]);
    const ReferenceResult exact = ReferenceOf(p, run, i, sees);
    ExpectRows(p, run, i, exact, ToleranceOf(options.compute));
    ExpectMaps(p, run, i, exact, ToleranceOf(options.compute));
  }
}

class StatisticsTest : public EveryTable {
 protected:
  void ExpectInEveryClass(const AttentionProblem& p, const VisibleFn& visible = nullptr) {
    for (const RunOptions& options : {RunOptions{Compute::kF32, DType::kF32, 2}, kBf16Class, kInt8Class,
                                      RunOptions{Compute::kF32, DType::kQ4, 2}}) {
      ExpectStatistics(p, options, table(), visible);
      if (HasFailure()) return;
    }
  }
};
ATTEND_FOR_EVERY_TABLE(StatisticsTest);

AttentionProblem Heads(int64_t q_heads, int64_t kv_heads, const Mask& mask = Mask::Causal()) {
  return {.num_q_heads = q_heads, .num_kv_heads = kv_heads, .head_dim = 24, .v_head_dim = 8, .mask = mask};
}

TEST_P(StatisticsTest, FiguresAreThoseOfTheMatrix) {
  for (const Mask& mask : {Mask::Causal(), Mask::CausalWindow(70), Mask::None()}) {
    AttentionProblem p = Heads(6, 2, mask);  // groups of 3
    p.AddRandomSequence(130, 300, 1);
    ExpectInEveryClass(p);
  }
}

TEST_P(StatisticsTest, SplitKeysGiveTheSameFigures) {
  for (int64_t q_len : {1, 7}) {
    for (const Mask& mask : {Mask::Causal(), Mask::CausalWindow(1900), Mask::None()}) {
      AttentionProblem p = Heads(3, 1, mask);
      p.AddRandomSequence(q_len, 3000, 2);
      ExpectInEveryClass(p);
    }
  }
}

// The sink's weight is in no figure.
TEST_P(StatisticsTest, SinksTakeTheirShareFromEveryFigure) {
  AttentionProblem p = Heads(5, 1);
  p.sinks = {0.5f, 3.0f, -2.0f, -kInfinity, 8.0f};
  p.AddRandomSequence(70, 40, 3);  // 30 rows see nothing but the sink
  p.AddRandomSequence(2, 2500, 4);
  ExpectInEveryClass(p);
  const ObservedRun run(p, kExact, table());
  EXPECT_LT(run.collector->Map(1, 4)[0], 1.0);
}

TEST_P(StatisticsTest, SoftcapBiasAndSlopesAreInTheFigures) {
  AttentionProblem p = Heads(4, 2);
  p.softcap = 4;
  p.slopes = {0.5f, 0.1f, 0.02f, 0.0f};
  p.bias = RandomRow(4 * 40 * 100, 9);
  p.bias[70] = -kInfinity;
  p.AddRandomSequence(40, 100, 5);
  ExpectInEveryClass(p);
}

TEST_P(StatisticsTest, DocumentsAndPaddingAreInTheFigures) {
  AttentionProblem p = Heads(3, 1);
  p.AddRandomSequence(90, 200, 6);
  std::vector<int32_t> q_documents, kv_documents;
  std::vector<uint8_t> visible;
  for (int32_t key = 0; key < 200; ++key) {
    kv_documents.push_back(key / 70);
    visible.push_back(key < 30 || key % 5 == 0 ? 0 : 1);  // left padding, and holes
  }
  for (int32_t query = 0; query < 90; ++query) q_documents.push_back(query == 40 ? 99 : (query + 110) / 70);
  p.mask.q_documents = q_documents;
  p.mask.kv_documents = kv_documents;
  p.mask.key_is_visible = visible;
  ExpectInEveryClass(p, [&](int64_t query, int64_t key) {
    return key <= query + 110 && q_documents[query] == kv_documents[key] && visible[key] != 0;
  });
}

TEST_P(StatisticsTest, RaggedBatchesAndRowsThatSeeNothing) {
  AttentionProblem p = Heads(6, 2);
  p.AddRandomSequence(1, 2100, 7);
  p.AddRandomSequence(0, 20, 8);
  p.AddRandomSequence(33, 0, 9);
  p.AddRandomSequence(150, 100, 10);
  p.AddRandomSequence(65, 65, 11);
  ExpectInEveryClass(p);
}

// Cells of 16, 32, 64 and 128 tokens, and a batch whose sequences have different ones.
TEST_P(StatisticsTest, EveryCellSize) {
  AttentionProblem p = {.num_q_heads = 3, .num_kv_heads = 1, .head_dim = 8, .v_head_dim = 8};
  for (int64_t kv_len : {300, 5000, 9001, 17000}) p.AddRandomSequence(5, kv_len, static_cast<uint32_t>(kv_len));
  ExpectStatistics(p, {Compute::kF32, DType::kF32, 2}, table());
  for (size_t i = 0; i < 4; ++i) {
    const ObservedRun run(p.Alone(i), kExact, table());
    EXPECT_EQ(run.collector->map_shape(0).cell_tokens, int64_t{16} << i);
    ExpectStatistics(p.Alone(i), {Compute::kF32, DType::kF32, 1}, table());
  }
}

// All keys have the same weight; queries see the last 2900 of them.
void ExpectFirstKeyNamed(int64_t kv_len, const KernelTable& table) {
  AttentionProblem p = Heads(2, 1, Mask::CausalWindow(2900));
  p.sequences.push_back({2, kv_len, RandomRow(2 * 48, 1), std::vector<float>(static_cast<size_t>(kv_len * 24), 0.5f),
                         std::vector<float>(static_cast<size_t>(kv_len * 8), 1.0f)});
  const ObservedRun run(p, kExact, table);
  for (int64_t row = 0; row < 4; ++row) {
    EXPECT_EQ(run.collector->rows(0)[row].largest_key, std::max<int64_t>(0, kv_len - 2 + row / 2 - 2899))
        << kv_len << " keys, row " << row;
  }
}

TEST_P(StatisticsTest, OfEqualWeightsTheFirstKeyIsNamed) {
  for (int64_t kv_len : {50, 500, 1000}) ExpectFirstKeyNamed(kv_len, table());
}

TEST_P(StatisticsTest, OfEqualWeightsInPartsTheFirstKeyIsNamed) {
  for (int64_t kv_len : {1100, 2000, 3000}) ExpectFirstKeyNamed(kv_len, table());
}

TEST_P(StatisticsTest, MapsAreTheSameBitsForAnyNumberOfThreads) {
  AttentionProblem p = Heads(6, 2);
  p.AddRandomSequence(300, 300, 12);
  p.AddRandomSequence(3, 4000, 13);
  const ObservedRun one(p, {Compute::kBf16, DType::kBf16, 1}, table());
  for (int repeat = 0; repeat < 5; ++repeat) {
    const ObservedRun four(p, {Compute::kBf16, DType::kBf16, 4}, table());
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t head = 0; head < 6; ++head) {
        EXPECT_EQ(four.collector->Map(i, head), one.collector->Map(i, head)) << i << " " << head;
      }
    }
  }
}

TEST_P(StatisticsTest, OtherFirstAndNearKeysAreCounted) {
  AttentionProblem p = Heads(2, 2);
  p.AddRandomSequence(70, 190, 14);
  for (const auto& [first, near] : {std::pair{0, 0}, std::pair{1, 1}, std::pair{65, 130}, std::pair{1000, 1000}}) {
    const ObservedRun run(p, kExact, table(), {.num_first_keys = first, .num_near_keys = near});
    ExpectRows(p, run, 0, ReferenceOf(p, run, 0, p.VisibleOf(p.sequences[0])), ToleranceOf(Compute::kF32));
  }
}

// With statistics and every term of the scores on: twice the text, at most twice the workspace.
TEST(StatisticsMemoryTest, WorkspaceIsLinearInTheText) {
  const std::vector<float> bias(1), slopes(4, 0.1f), sinks(4, 0.0f);
  for (const bool one_query : {true, false}) {
    uint64_t before = uint64_t{1} << 40;
    for (const int64_t length : {8192, 16384, 32768, 65536, 131072}) {
      const std::vector<int64_t> q_lens = {one_query ? 1 : length}, kv_lens = {length};
      AttentionOptions options = {.softcap = 30, .alibi_slopes = slopes, .sinks = sinks};
      options.bias = {.data = bias.data(), .key_stride = 0, .size = 1};
      const auto schedule = ScheduleAttention({4, 2, 64, 64, q_lens, kv_lens}, options);
      ASSERT_TRUE(schedule);
      const KvView views[] = {{.num_tokens = length, .num_kv_heads = 2, .k_dim = 64, .v_width = 64}};
      StatisticsCollector collector(4, q_lens, kv_lens, {.keep_rows = false});
      const uint64_t bytes = *AttentionWorkspaceBytes(*schedule, views, &collector, 4);
      EXPECT_LE(bytes, 2 * before) << length;
      EXPECT_LE(bytes, 128 * static_cast<uint64_t>(length) + (uint64_t{2} << 20)) << length;
      before = bytes;
    }
  }
}

// A matrix of 4096 x 32768 floats would be 512 MiB.
TEST(StatisticsMemoryTest, ARunOver32768KeysStaysSmall) {
  AttentionProblem p{.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 4, .v_head_dim = 4};
  p.softcap = 30;
  p.slopes = {0.01f};
  p.AddRandomSequence(4096, 32768, 12);
  if (!ResetPeakResidentBytes())
    GTEST_SKIP() << "/proc/self/clear_refs cannot be written here: the peak of memory is that of the whole program";
  const uint64_t before = PeakResidentBytes();
  const ObservedRun run(p, {Compute::kBf16, DType::kBf16, 2}, *TablesHere().back());
  // A quarter of the matrix: AddressSanitizer keeps what was freed for a while.
  EXPECT_LE(PeakResidentBytes(), before + (uint64_t{128} << 20));
  EXPECT_GT(run.collector->rows(0).back().entropy, 0);
}

TEST(StatisticsCollectorTest, KeepsOnlyWhatIsWanted) {
  const std::vector<int64_t> lens = {100};
  const uint64_t rows = 2 * 100 * sizeof(RowStatistics), map = 2 * 7 * 7 * sizeof(int64_t);
  EXPECT_EQ(StatisticsCollector(2, lens, lens, {}).size_bytes(), rows + map);
  EXPECT_EQ(StatisticsCollector(2, lens, lens, {.keep_maps = false}).size_bytes(), rows);
  EXPECT_EQ(StatisticsCollector(2, lens, lens, {.keep_rows = false}).size_bytes(), map);
}

TEST(ObserverTest, CellsThatDoNotDivideATileAreRefused) {
  struct Observer : AttentionObserver {
    int64_t cell_keys = 0;
    ObserverWants wants() const override { return {.cell_keys = cell_keys}; }
    void OnRows(const ObservedRows&) override {}
  } observer;
  const int64_t length = 100;
  const auto schedule = ScheduleAttention({1, 1, 16, 16, {&length, 1}, {&length, 1}}, {});
  const KvView views[] = {{.num_tokens = length, .num_kv_heads = 1, .k_dim = 16, .v_width = 16}};
  for (const int64_t cell_keys : {0, -16, 8, 17, 48, 128}) {
    observer.cell_keys = cell_keys;
    const auto bytes = AttentionWorkspaceBytes(*schedule, views, &observer, 1);
    ASSERT_FALSE(bytes) << cell_keys;
    EXPECT_EQ(bytes.error().subject, "observer cell_keys");
  }
  observer.cell_keys = 32;
  EXPECT_GT(AttentionWorkspaceBytes(*schedule, views, &observer, 1).value_or(0), 0);
}

TEST(MapShapeTest, TheLongerSideHasAtMost256Cells) {
  struct Expected {
    int64_t q_len, kv_len, cell_tokens, num_rows, num_columns;
  };
  for (const Expected& e : {Expected{1, 1, 16, 1, 1}, Expected{1, 4096, 16, 1, 256}, Expected{4096, 4096, 16, 256, 256},
                            Expected{1, 4097, 32, 1, 129}, Expected{4097, 17, 32, 129, 1},
                            Expected{131072, 131072, 512, 256, 256}, Expected{0, 40, 16, 0, 3}}) {
    const MapShape shape = MapShape::For(e.q_len, e.kv_len);
    EXPECT_EQ(shape.cell_tokens, e.cell_tokens) << e.q_len << " x " << e.kv_len;
    EXPECT_EQ(shape.num_rows, e.num_rows) << e.q_len << " x " << e.kv_len;
    EXPECT_EQ(shape.num_columns, e.num_columns) << e.q_len << " x " << e.kv_len;
  }
}

}  // namespace
}  // namespace attend
