// What attention keeps when the question is asked another way: a shifted row, keys in parts or in another order, a
// prompt in chunks, other neighbours, threads or observers. Every cache format and class, on every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "attention/state.h"
#include "attention/statistics.h"
#include "kernels/kernels_test_util.h"
#include "measure/case_data.h"

namespace attend {
namespace {

// All that a call takes; a test changes what it asks about.
struct Call {
  std::vector<int64_t> q_lens, kv_lens;
  AttentionShape shape;
  AttentionOptions options;
  AttentionQueries queries;
  std::vector<KvView> caches;
};

Call CallOf(const CaseData& data) {
  Call call = {{}, {}, data.shape(), data.options(), data.queries(), data.caches(0)};
  call.q_lens.assign(call.shape.q_lens.begin(), call.shape.q_lens.end());
  call.kv_lens.assign(call.shape.kv_lens.begin(), call.shape.kv_lens.end());
  return call;
}

struct Rows {
  std::vector<float> out, lse;  // [tokens, Hq, Dv], [tokens, Hq]
};

Rows RunCall(const Call& call, const KernelTable& table, int threads = 2, AttentionObserver* observer = nullptr) {
  AttentionShape shape = call.shape;
  shape.q_lens = call.q_lens;
  shape.kv_lens = call.kv_lens;
  const auto schedule = ScheduleAttention(shape, call.options);
  EXPECT_TRUE(schedule) << (schedule ? "" : Describe(schedule.error()));
  const int64_t width = shape.num_q_heads * shape.v_head_dim;
  const int64_t tokens = std::accumulate(call.q_lens.begin(), call.q_lens.end(), int64_t{0});
  Rows rows = {std::vector<float>(static_cast<size_t>(tokens * width), kNan),
               std::vector<float>(static_cast<size_t>(tokens * shape.num_q_heads), kNan)};
  ThreadPool pool(threads);
  AttentionWorkspace workspace;
  const AttentionOutput output = {
      .out = rows.out.data(), .stride = width, .lse = rows.lse.data(), .observer = observer};
  const auto counters = RunAttention(*schedule, call.queries, call.caches, output, table, pool, workspace);
  EXPECT_TRUE(counters) << (counters ? "" : Describe(counters.error()));
  return rows;
}

constexpr const char* kClasses[] = {" compute=f32 cache={f32|bf16|f16|q8|q4}", " compute=bf16 cache={bf16|f16|q8|q4}",
                                    " compute=int8 cache={q8|q4|q8,q4|q4/32}"};

std::vector<AttentionCase> InEveryFormat(const std::string& line) {
  std::vector<AttentionCase> all;
  for (const char* numerics : kClasses) {
    const auto cases = ParseAttentionCases(line + numerics, {});
    EXPECT_TRUE(cases) << (cases ? "" : Describe(cases.error()));
    if (cases) all.insert(all.end(), cases->begin(), cases->end());
  }
  return all;
}

// Two runs of one class whose sums have another order; values are below 2.
double ToleranceOf(const AttentionCase& c) {
  return c.compute == Compute::kF32 ? 2e-5 : c.compute == Compute::kBf16 ? 1e-2 : 3e-2;
}

double Apart(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double apart = a[i] == b[i] ? 0 : std::abs(double{a[i]} - b[i]);
    largest = std::isnan(apart) ? kInfinity : std::max(largest, apart);
  }
  return largest;
}

bool SameBits(const Rows& a, const Rows& b) {
  const auto same = [](const std::vector<float>& x, const std::vector<float>& y) {
    return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0);
  };
  return same(a.out, b.out) && same(a.lse, b.lse);
}

class PropertiesTest : public EveryTable {
 protected:
  // check(case, data) for every line in every format.
  template <class Check>
  void ForEveryFormat(std::initializer_list<const char*> lines, const Check& check) {
    for (const char* line : lines) {
      for (const AttentionCase& c : InEveryFormat(line)) {
        SCOPED_TRACE(c.text);
        const auto data = CaseData::Make(c, 1);
        ASSERT_TRUE(data) << Describe(data.error());
        check(c, *data);
        if (HasFailure()) return;
      }
    }
  }
};
ATTEND_FOR_EVERY_TABLE(PropertiesTest);

TEST_P(PropertiesTest, AConstantAddedToARowMovesItsLseAndNothingElse) {
  ForEveryFormat(
      {"heads=6/2 dim=32 q={1|65} kv=150 mask=causal", "heads=3/1 dim=24 q=7 kv=1500 mask=none"},
      [&](const AttentionCase& c, const CaseData& data) {
        const int64_t rows = c.q_lens[0] * c.num_q_heads;
        std::vector<float> shift(static_cast<size_t>(rows), 0.0f);  // [q, Hq]
        Call call = CallOf(data);
        call.options.bias = {
            .data = shift.data(), .head_stride = 1, .query_stride = c.num_q_heads, .key_stride = 0, .size = rows};
        const Rows plain = RunCall(call, table());
        CaseRandom random(3);
        for (float& x : shift) x = 60.0f * random.Uniform();
        Rows moved = RunCall(call, table());
        EXPECT_LE(Apart(moved.out, plain.out), ToleranceOf(c));
        for (int64_t i = 0; i < rows; ++i) moved.lse[i] -= shift[i];
        EXPECT_LE(Apart(moved.lse, plain.lse), ToleranceOf(c));
      });
}

// The output of a row lies between the smallest and the largest value that it sees; a sink pulls it towards 0.
TEST_P(PropertiesTest, OutputIsWithinTheHullOfTheVisibleValues) {
  ForEveryFormat({"heads=6/2 dim=32/20 q={1|65} kv=150 mask=causal window=40,0 padding=holes",
                  "heads=3/1 dim=24 q=7 kv=60 mask=causal sinks=on values=large"},
                 [&](const AttentionCase& c, const CaseData& data) {
                   const Call call = CallOf(data);
                   const Rows got = RunCall(call, table());
                   const std::vector<float> v = data.ValueValues(0);
                   const Mask& mask = call.options.mask;
                   for (size_t i = 0; i < got.out.size(); ++i) {
                     const int64_t column = static_cast<int64_t>(i) % c.v_head_dim;
                     const int64_t head = static_cast<int64_t>(i) / c.v_head_dim % c.num_q_heads;
                     const int64_t query = static_cast<int64_t>(i) / c.v_head_dim / c.num_q_heads;
                     const KeyRange band = mask.Band(query, c.q_lens[0], c.kv_lens[0]);
                     double low = kInfinity, high = -kInfinity;
                     if (c.sinks) low = high = 0;
                     for (int64_t key = band.begin; key < band.end; ++key) {
                       if (!mask.key_is_visible.empty() && mask.key_is_visible[key] == 0) continue;
                       const int64_t kv_head = head / (c.num_q_heads / c.num_kv_heads);
                       const double value = v[(key * c.num_kv_heads + kv_head) * c.v_head_dim + column];
                       low = std::min(low, value);
                       high = std::max(high, value);
                     }
                     if (low > high) low = high = 0;  // nothing is seen
                     ASSERT_GE(got.out[i], low - ToleranceOf(c)) << query << " " << head << " " << column;
                     ASSERT_LE(got.out[i], high + ToleranceOf(c)) << query << " " << head << " " << column;
                   }
                 });
}

// Merges runs over disjoint keys, row by row.
Rows Merged(const std::vector<Rows>& parts, int64_t width) {
  Rows merged = parts[0];
  for (size_t row = 0; row < merged.lse.size(); ++row) {
    std::vector<AttentionState> states;
    for (const Rows& part : parts) states.push_back({part.out.data() + row * width, part.lse[row]});
    std::vector<float> out(static_cast<size_t>(width));
    merged.lse[row] = MergeStates(states, width, out.data());
    std::copy(out.begin(), out.end(), merged.out.begin() + static_cast<int64_t>(row) * width);
  }
  return merged;
}

// Keys [0, a), [a, b), [b, kv_len), each seen through padding that hides the others; parts may be empty.
TEST_P(PropertiesTest, KeysSplitAnywhereMergeToTheWhole) {
  ForEveryFormat({"heads=6/2 dim=32 q=7 kv=150 mask=causal", "heads=2/1 dim=16 q=40 kv=30 mask=causal",
                  "heads=3/1 dim=16 q=1 kv=1500 mask=none"},
                 [&](const AttentionCase& c, const CaseData& data) {
                   const int64_t kv_len = c.kv_lens[0], width = c.v_head_dim;
                   Call call = CallOf(data);
                   const Rows whole = RunCall(call, table());
                   CaseRandom random(5);
                   for (int i = 0; i < 3; ++i) {
                     int64_t ends[] = {random.Below(kv_len + 1), random.Below(kv_len + 1), kv_len};
                     std::sort(ends, ends + 2);
                     std::vector<Rows> parts;
                     for (int part = 0; part < 3; ++part) {
                       std::vector<uint8_t> visible(static_cast<size_t>(kv_len), 0);
                       std::fill(visible.begin() + (part == 0 ? 0 : ends[part - 1]), visible.begin() + ends[part], 1);
                       call.options.mask.key_is_visible = visible;
                       parts.push_back(RunCall(call, table()));
                     }
                     const Rows all = Merged(parts, width);
                     EXPECT_LE(Apart(all.out, whole.out), ToleranceOf(c)) << ends[0] << " " << ends[1];
                     EXPECT_LE(Apart(all.lse, whole.lse), ToleranceOf(c)) << ends[0] << " " << ends[1];
                     // In pairs, either way: the same up to float32 rounding.
                     const Rows left = Merged({Merged({parts[0], parts[1]}, width), parts[2]}, width);
                     const Rows right = Merged({parts[0], Merged({parts[1], parts[2]}, width)}, width);
                     EXPECT_LE(Apart(left.out, all.out), 1e-5);
                     EXPECT_LE(Apart(right.out, all.out), 1e-5);
                   }
                 });
}

// Caches of their own, a few blocks each.
TEST_P(PropertiesTest, KeysInSeparateCachesMergeToTheWhole) {
  ForEveryFormat({"heads=6/2 dim=32 q={1|20} kv=330 mask=none"}, [&](const AttentionCase& c, const CaseData& data) {
    const Call whole = CallOf(data);
    std::vector<Rows> parts;
    for (const auto& [begin, end] : {KeyRange{0, 64}, KeyRange{64, 256}, KeyRange{256, 330}}) {
      Call part = whole;
      part.kv_lens = {end - begin};
      part.caches[0].blocks += begin / 64;
      part.caches[0].num_tokens = end - begin;
      parts.push_back(RunCall(part, table()));
    }
    const Rows expected = RunCall(whole, table()), got = Merged(parts, c.v_head_dim);
    EXPECT_LE(Apart(got.out, expected.out), ToleranceOf(c));
    EXPECT_LE(Apart(got.lse, expected.lse), ToleranceOf(c));
  });
}

TEST_P(PropertiesTest, WithoutAMaskTheOrderOfKeysDoesNotMatter) {
  ForEveryFormat({"heads=6/2 dim=32 q={1|20} kv=320 mask=none"}, [&](const AttentionCase& c, const CaseData& data) {
    Call call = CallOf(data);
    const Rows straight = RunCall(call, table());
    std::vector<const uint8_t*> blocks(call.caches[0].blocks, call.caches[0].blocks + 5);
    std::swap(blocks[0], blocks[3]);
    std::swap(blocks[1], blocks[4]);
    call.caches[0].blocks = blocks.data();
    const Rows mixed = RunCall(call, table());
    EXPECT_LE(Apart(mixed.out, straight.out), ToleranceOf(c));
    EXPECT_LE(Apart(mixed.lse, straight.lse), ToleranceOf(c));

    // Key by key, over plain rows.
    const std::vector<float> k = data.KeyValues(0), v = data.ValueValues(0);
    const int64_t width = c.num_kv_heads * c.head_dim;
    std::vector<float> turned_k, turned_v;
    for (int64_t key = c.kv_lens[0]; key-- > 0;) {
      turned_k.insert(turned_k.end(), k.begin() + key * width, k.begin() + (key + 1) * width);
      turned_v.insert(turned_v.end(), v.begin() + key * width, v.begin() + (key + 1) * width);
    }
    if (c.compute == Compute::kInt8) return;  // not over plain rows
    const auto rows_of = [&](const std::vector<float>& x) {
      return PlainTensor{x.data(), DType::kF32, width, c.head_dim, static_cast<int64_t>(x.size())};
    };
    call.caches[0] = PlainKv(rows_of(k), rows_of(v), c.kv_lens[0], c.num_kv_heads, c.head_dim, c.v_head_dim);
    const Rows forward = RunCall(call, table());
    call.caches[0] =
        PlainKv(rows_of(turned_k), rows_of(turned_v), c.kv_lens[0], c.num_kv_heads, c.head_dim, c.v_head_dim);
    EXPECT_LE(Apart(RunCall(call, table()).out, forward.out), ToleranceOf(c));
  });
}

// All heads ask the same of the same keys: the same bits, wherever their rows lie in a unit.
TEST_P(PropertiesTest, EqualHeadsGiveEqualBits) {
  ForEveryFormat(
      {"heads={4/4|6/2|10/2} dim=16 q={1|7|65} kv=150 mask=causal", "heads=10/2 dim=16 q=7 kv=1100 mask=causal"},
      [&](const AttentionCase& c, const CaseData& data) {
        Call call = CallOf(data);
        std::vector<float> q = data.QueryValues(0);
        for (size_t i = 0; i < q.size(); ++i) {
          q[i] = q[i / (c.num_q_heads * c.head_dim) * (c.num_q_heads * c.head_dim) + i % c.head_dim];
        }
        call.queries.data = q.data();
        call.caches[0].head_bytes = 0;  // every head reads the first one's tiles
        const Rows got = RunCall(call, table());
        for (size_t i = 0; i < got.out.size(); ++i) {
          const size_t width = static_cast<size_t>(c.num_q_heads * c.v_head_dim);
          ASSERT_EQ(got.out[i], got.out[i / width * width + i % c.v_head_dim])
              << "token " << i / width << " head " << i % width / c.v_head_dim;
        }
      });
}

// Heads of a group share K and V; each gives what it gives when it has them to itself.
TEST_P(PropertiesTest, HeadsOfAGroupAreHeadsOfTheirOwn) {
  for (int group : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}) {
    const std::string heads = "heads=" + std::to_string(2 * group) + "/2 dim=16 q=7 kv=75 mask=causal";
    ForEveryFormat({heads.c_str()}, [&](const AttentionCase& c, const CaseData& data) {
      const Call call = CallOf(data);
      const Rows shared = RunCall(call, table());
      const std::vector<float> q = data.QueryValues(0);
      for (int64_t member : {0, group / 2, group - 1}) {
        const auto pick = [&](const std::vector<float>& rows) {  // head `member` of both groups
          std::vector<float> picked;
          for (int64_t row = member; row < 7 * c.num_q_heads; row += group) {
            picked.insert(picked.end(), rows.begin() + row * 16, rows.begin() + (row + 1) * 16);
          }
          return picked;
        };
        Call alone = call;
        const std::vector<float> own = pick(q);
        alone.shape.num_q_heads = 2;
        alone.queries = {own.data(), 32};
        EXPECT_LE(Apart(RunCall(alone, table()).out, pick(shared.out)), ToleranceOf(c)) << "head " << member;
      }
    });
  }
}

TEST_P(PropertiesTest, EveryTableGivesWhatTheScalarOneGives) {
  ForEveryFormat({"heads=6/2 dim=40/24 q=1 kv=1500 mask=causal", "heads=6/2 dim=40/24 q=30 kv=130 mask=causal"},
                 [&](const AttentionCase& c, const CaseData& data) {
                   const Rows here = RunCall(CallOf(data), table()), scalar = RunCall(CallOf(data), kScalarKernels);
                   EXPECT_LE(Apart(here.out, scalar.out), ToleranceOf(c));
                   EXPECT_LE(Apart(here.lse, scalar.lse), ToleranceOf(c));
                 });
}

TEST_P(PropertiesTest, APromptInChunksIsThePromptAtOnce) {
  ForEveryFormat(
      {"heads=6/2 dim=32 q=200 mask=causal", "heads=3/1 dim=24 q=150 mask=causal window=40,0 sinks=on softcap=9"},
      [&](const AttentionCase& c, const CaseData& data) {
        const Call whole = CallOf(data);
        const Rows once = RunCall(whole, table());
        for (int64_t chunk : {1, 64, 67}) {
          Rows pieces;
          for (int64_t begin = 0; begin < c.q_lens[0]; begin += chunk) {
            Call piece = whole;
            const int64_t end = std::min(begin + chunk, c.q_lens[0]);
            piece.q_lens = {end - begin};
            piece.kv_lens = {end};
            piece.queries.data = static_cast<const float*>(whole.queries.data) + begin * whole.queries.stride;
            const Rows rows = RunCall(piece, table(), 1);
            pieces.out.insert(pieces.out.end(), rows.out.begin(), rows.out.end());
            pieces.lse.insert(pieces.lse.end(), rows.lse.begin(), rows.lse.end());
          }
          EXPECT_LE(Apart(pieces.out, once.out), ToleranceOf(c)) << "chunks of " << chunk;
          EXPECT_LE(Apart(pieces.lse, once.lse), ToleranceOf(c)) << "chunks of " << chunk;
        }
      });
}

// K with a few channels ten times as large, in 4 bits: the rotation is what keeps it usable.
TEST_P(PropertiesTest, OutlierChannelsOf4BitKeysNeedTheRotation) {
  const auto lse_of = [&](const std::string& format) {
    const auto cases = ParseAttentionCases("heads=4/2 dim=64 q=40 kv=300 mask=causal values=outliers " + format, {});
    return RunCall(CallOf(*CaseData::Make(cases->front(), 1)), table()).lse;
  };
  const std::vector<float> exact = lse_of("compute=f32 cache=f32");
  const auto error_of = [&](const std::string& format) {
    const std::vector<float> got = lse_of(format);
    double sum = 0;
    for (size_t i = 0; i < got.size(); ++i) sum += (got[i] - exact[i]) * (got[i] - exact[i]);
    return std::sqrt(sum / static_cast<double>(got.size()));
  };
  for (const std::string numerics : {"compute=f32", "compute=bf16", "compute=int8"}) {
    EXPECT_LT(2 * error_of(numerics + " cache=q4,f16"), error_of(numerics + " cache=q4,f16-h")) << numerics;
  }
}

// Some sequences of a call in an order of their own, with everything that belongs to them.
class Reordered {
 public:
  Reordered(const Call& from, const AttentionCase& c, const std::vector<size_t>& order) : call(from) {
    const Mask& mask = from.options.mask;
    const std::vector<int64_t> ones(from.q_lens.size(), 1);
    q_ = Gather(std::span(static_cast<const float*>(from.queries.data), static_cast<size_t>(TokensOf(from) * Width(c))),
                from.q_lens, order, Width(c));
    prefix_ = Gather(mask.prefix_lens, ones, order);
    q_documents_ = Gather(mask.q_documents, from.q_lens, order);
    kv_documents_ = Gather(mask.kv_documents, from.kv_lens, order);
    visible_ = Gather(mask.key_is_visible, from.kv_lens, order);
    tiles_ = Gather(mask.tiles, ones, order);
    call.q_lens = Gather(std::span(from.q_lens), ones, order);
    call.kv_lens = Gather(std::span(from.kv_lens), ones, order);
    call.caches = Gather(std::span(from.caches), ones, order);
    call.queries.data = q_.data();
    call.options.mask.prefix_lens = prefix_;
    call.options.mask.q_documents = q_documents_;
    call.options.mask.kv_documents = kv_documents_;
    call.options.mask.key_is_visible = visible_;
    call.options.mask.tiles = tiles_;
  }

  // Sequences of `values`, each lens[i] * width long, in the new order.
  template <class T>
  static std::vector<std::remove_const_t<T>> Gather(std::span<T> values, const std::vector<int64_t>& lens,
                                                    const std::vector<size_t>& order, int64_t width = 1) {
    std::vector<std::remove_const_t<T>> gathered;
    for (size_t i : order) {
      const int64_t begin = std::accumulate(lens.begin(), lens.begin() + static_cast<int64_t>(i), int64_t{0}) * width;
      if (!values.empty()) {
        gathered.insert(gathered.end(), values.begin() + begin, values.begin() + begin + lens[i] * width);
      }
    }
    return gathered;
  }

  Call call;

 private:
  static int64_t Width(const AttentionCase& c) { return c.num_q_heads * c.head_dim; }
  static int64_t TokensOf(const Call& c) { return std::accumulate(c.q_lens.begin(), c.q_lens.end(), int64_t{0}); }

  std::vector<float> q_;
  std::vector<int64_t> prefix_;
  std::vector<int32_t> q_documents_, kv_documents_;
  std::vector<uint8_t> visible_;
  std::vector<VisibleTiles> tiles_;
};

constexpr std::initializer_list<const char*> kBatches = {
    "heads=6/2 dim=32 q=65,1,7 kv=140,1500,7 mask=causal window=90,0 prefix=12 docs=3 padding=holes sinks=on",
    "heads=3/1 dim=24/40 q=3,0,130,2 kv=1100,9,130,1 mask=none tiles=50 bias=f16:hqk alibi=on softcap=9 scale=heads"};

TEST_P(PropertiesTest, NeighboursAndTheirOrderDoNotChangeABit) {
  ForEveryFormat(kBatches, [&](const AttentionCase& c, const CaseData& data) {
    const Call batch = CallOf(data);
    const Rows together = RunCall(batch, table());
    std::vector<size_t> order(c.q_lens.size());
    std::iota(order.rbegin(), order.rend(), 0);
    const auto expected_of = [&](const std::vector<size_t>& sequences) {
      const auto gather = [&](const std::vector<float>& rows, int64_t width) {
        return Reordered::Gather(std::span(rows), batch.q_lens, sequences, width);
      };
      return Rows{gather(together.out, c.num_q_heads * c.v_head_dim), gather(together.lse, c.num_q_heads)};
    };
    EXPECT_TRUE(SameBits(RunCall(Reordered(batch, c, order).call, table()), expected_of(order)));
    for (size_t i = 0; i < order.size(); ++i) {
      EXPECT_TRUE(SameBits(RunCall(Reordered(batch, c, {i}).call, table()), expected_of({i}))) << "sequence " << i;
    }
  });
}

TEST_P(PropertiesTest, ThreadsAndObserversDoNotChangeABit) {
  ForEveryFormat(kBatches, [&](const AttentionCase& c, const CaseData& data) {
    const Call call = CallOf(data);
    const Rows alone = RunCall(call, table(), 1);
    for (int threads : {1, 2, 3, 5}) {
      EXPECT_TRUE(SameBits(RunCall(call, table(), threads), alone)) << threads << " threads";
      StatisticsCollector collector(c.num_q_heads, c.q_lens, c.kv_lens, {});
      EXPECT_TRUE(SameBits(RunCall(call, table(), threads, &collector), alone)) << threads << " threads, observed";
    }
  });
}

TEST_P(PropertiesTest, PagesScatteredOverAPoolDoNotChangeABit) {
  ForEveryFormat({"heads=6/2 dim=40/24 q=65,1,7 kv=140,1500,7 mask=causal"},
                 [&](const AttentionCase& c, const CaseData& data) {
                   AttentionCase paged = c;
                   paged.layout = KvLayout::kPaged;
                   const auto scattered = CaseData::Make(paged, 1);
                   ASSERT_TRUE(scattered);
                   EXPECT_TRUE(SameBits(RunCall(CallOf(*scattered), table()), RunCall(CallOf(data), table())));
                 });
}

}  // namespace
}  // namespace attend
