// Every case of tests/cases on every instruction set: against the formula in double precision, by the rule of
// ARCHITECTURE.md, Numerics: at most twice the error of the naive loop of the same class, plus a few eps.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "attention/reference.h"
#include "attention/weights.h"
#include "base/half.h"
#include "kernels/kernels_test_util.h"
#include "measure/case_data.h"

namespace attend {
namespace {

constexpr double kEpsF32 = 0x1p-24, kEpsBf16 = 0x1p-9;  // few of them, not one: half an ulp of bf16 is 2^-8

std::vector<std::string> CaseFiles() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(ATTEND_SOURCE_DIR "/tests/cases")) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path().stem().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<AttentionCase> CasesOf(const std::string& file) {
  auto cases = ReadAttentionCases(std::string(ATTEND_SOURCE_DIR "/tests/cases/") + file + ".txt", {});
  EXPECT_TRUE(cases) << (cases ? "" : Describe(cases.error()));
  return cases ? *cases : std::vector<AttentionCase>();
}

// Written from the mask's definition, key by key.
bool IsVisible(const AttentionCase& c, const AttentionOptions& o, int64_t sequence, int64_t query, int64_t key) {
  int64_t q_begin = 0, kv_begin = 0;
  for (int64_t s = 0; s < sequence; ++s) {
    q_begin += c.q_lens[s];
    kv_begin += c.kv_lens[s];
  }
  const Mask& m = o.mask;
  const bool top_left = m.alignment == MaskAlignment::kTopLeft;
  const int64_t position = top_left ? query : query + c.kv_lens[sequence] - c.q_lens[sequence];
  bool seen = m.kind == MaskKind::kNone || key <= position;
  if (m.window_left >= 0) seen = seen && key >= position - m.window_left;
  if (m.window_right >= 0) seen = seen && key <= position + m.window_right;
  if (!m.prefix_lens.empty()) seen = seen || key < m.prefix_lens[sequence];
  if (!m.q_documents.empty()) seen = seen && m.q_documents[q_begin + query] == m.kv_documents[kv_begin + key];
  if (!m.key_is_visible.empty()) seen = seen && m.key_is_visible[kv_begin + key] != 0;
  if (!m.tiles.empty()) {
    const VisibleTiles& t = m.tiles[sequence];
    const auto row =
        t.key_tiles.subspan(t.row_begins[query / 64], t.row_begins[query / 64 + 1] - t.row_begins[query / 64]);
    seen = seen && std::find(row.begin(), row.end(), key / 64) != row.end();
  }
  return seen;
}

ReferenceCall CallOf(const AttentionCase& c, const CaseData& data, const AttentionOptions& o, int64_t sequence,
                     std::span<const float> q, std::span<const float> k, std::span<const float> v) {
  ReferenceCall call;
  call.shape = {c.num_q_heads, c.num_kv_heads, c.head_dim, c.v_head_dim, c.q_lens[sequence], c.kv_lens[sequence]};
  call.q = q;
  call.k = k;
  call.v = v;
  const double scale = c.scale != 0 ? double{c.scale} : double{1.0f / std::sqrt(static_cast<float>(c.head_dim))};
  call.scales.assign(static_cast<size_t>(c.num_q_heads), scale);
  std::copy(o.head_scales.begin(), o.head_scales.end(), call.scales.begin());
  call.visible = [=](int64_t query, int64_t key) { return IsVisible(c, o, sequence, query, key); };
  call.term = [=, &c, &data](int64_t head, int64_t query, int64_t key, double x) {
    if (c.softcap > 0) x = c.softcap * std::tanh(x / c.softcap);
    x += data.Bias(sequence, head, query, key);
    const int64_t position = o.mask.PositionOf(query, c.q_lens[sequence], c.kv_lens[sequence]);
    if (c.alibi) x -= o.alibi_slopes[head] * std::abs(static_cast<double>(position - key));
    return x;
  };
  call.sinks.assign(o.sinks.begin(), o.sinks.end());
  return call;
}

template <class A, class B>
double Largest(const A& got, const B& expected) {
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = got[i] == expected[i] ? 0 : std::abs(double{got[i]} - expected[i]);
    largest = std::isnan(difference) ? kInfinity : std::max(largest, difference);
  }
  return largest;
}

// What a case should give, and how far off it may be.
struct Expected {
  std::vector<double> out, lse;  // all tokens, [tokens, Hq, Dv] and [tokens, Hq]
  double out_tolerance = 0, lse_tolerance = 0;
};

Expected Expect(const AttentionCase& c, const CaseData& data, const AttentionOptions& o) {
  Expected all;
  double naive_error = 0, largest_value = 0, largest_score = 1;
  for (int64_t s = 0; s < static_cast<int64_t>(c.q_lens.size()); ++s) {
    const std::vector<float> q = data.QueryValues(s), k = data.KeyValues(s), v = data.ValueValues(s);
    const ReferenceCall call = CallOf(c, data, o, s, q, k, v);
    const ReferenceResult exact = ReferenceAttention(call);
    const NaiveClass numerics = c.compute == Compute::kF32    ? NaiveClass::kF32
                                : c.compute == Compute::kBf16 ? NaiveClass::kBf16
                                                              : NaiveClass::kInt8;
    naive_error = std::max(naive_error, Largest(NaiveAttention(call, numerics), exact.out));
    for (float x : v) largest_value = std::max(largest_value, std::abs(double{x}));
    for (double x : exact.lse) largest_score = std::isfinite(x) ? std::max(largest_score, std::abs(x)) : largest_score;
    all.out.insert(all.out.end(), exact.out.begin(), exact.out.end());
    all.lse.insert(all.lse.end(), exact.lse.begin(), exact.lse.end());
  }
  const double eps = c.compute == Compute::kF32 ? kEpsF32 : kEpsBf16;
  all.out_tolerance = 2 * naive_error + 4 * eps * largest_value;
  if (c.out_dtype == DType::kBf16) all.out_tolerance += 2 * kEpsBf16 * largest_value;
  // c (1 - 2 / (exp(2x/c) + 1)) rounds at the size of c, tanh in double does not.
  all.out_tolerance += 4 * kEpsF32 * c.softcap * largest_value;
  all.lse_tolerance = (c.compute == Compute::kF32 ? 64 * kEpsF32 : 8 * kEpsBf16) * largest_score;
  return all;
}

struct Got {
  std::vector<float> out, lse;
  AttentionCounters counters;
};

Got RunCase(const AttentionCase& c, const CaseData& data, const KernelTable& table, int threads) {
  Got got;
  const auto schedule = ScheduleAttention(data.shape(), data.options());
  EXPECT_TRUE(schedule) << c.text << (schedule ? "" : Describe(schedule.error()));
  if (!schedule) return got;
  const int64_t width = c.num_q_heads * c.v_head_dim, tokens = data.num_tokens();
  std::vector<float> f32(static_cast<size_t>(tokens * width), kNan);
  std::vector<uint16_t> bf16(f32.size());
  got.lse.assign(static_cast<size_t>(tokens * c.num_q_heads), kNan);
  const bool rounds = c.out_dtype == DType::kBf16;
  void* out = rounds ? static_cast<void*>(bf16.data()) : f32.data();
  ThreadPool pool(threads);
  AttentionWorkspace workspace;
  const auto counters =
      RunAttention(*schedule, data.queries(), data.caches(0),
                   {.out = out, .stride = width, .lse = got.lse.data(), .dtype = c.out_dtype}, table, pool, workspace);
  EXPECT_TRUE(counters) << c.text << (counters ? "" : Describe(counters.error()));
  if (counters) got.counters = *counters;
  for (size_t i = 0; i < f32.size(); ++i) got.out.push_back(rounds ? Bf16ToFloat(bf16[i]) : f32[i]);
  return got;
}

class CasesTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(File, CasesTest, testing::ValuesIn(CaseFiles()),
                         [](const auto& file_info) { return std::string(file_info.param); });

TEST_P(CasesTest, EveryTableIsWithinTheRule) {
  for (const AttentionCase& c : CasesOf(GetParam())) {
    SCOPED_TRACE(c.text);
    const auto data = CaseData::Make(c, 1);
    ASSERT_TRUE(data) << Describe(data.error());
    const Expected expected = Expect(c, *data, data->options());
    for (const KernelTable* table : TablesHere()) {
      const Got got = RunCase(c, *data, *table, 2);
      EXPECT_LE(Largest(got.out, expected.out), expected.out_tolerance) << table->name << " out";
      EXPECT_LE(Largest(got.lse, expected.lse), expected.lse_tolerance) << table->name << " lse";
      // Proof that no row went another way.
      EXPECT_EQ(got.counters.rows, data->num_tokens() * c.num_q_heads);
    }
  }
}

std::set<std::string> OptionsIn(const AttentionCase& c) {
  std::set<std::string> options;
  const auto add = [&](bool on, const char* name) {
    if (on) options.insert(name);
  };
  const bool quantised = IsQuantisedKv(c.format.k) || IsQuantisedKv(c.format.v);
  add(c.mask == MaskKind::kNone, "mask none");
  add(c.mask == MaskKind::kCausal && c.alignment == MaskAlignment::kBottomRight, "causal");
  add(c.alignment == MaskAlignment::kTopLeft, "causal top-left");
  add(c.window_left >= 0 || c.window_right >= 0, "window");
  add(c.prefix > 0, "prefix");
  add(c.num_documents > 0, "documents");
  add(!c.padding.empty(), "padding");
  add(c.tiles_percent >= 0, "tiles");
  add(!c.bias_axes.empty(), "bias");
  add(c.alibi, "alibi");
  add(c.softcap > 0, "softcap");
  add(c.sinks, "sinks");
  add(c.scale_per_head, "scale per head");
  add(c.head_dim != c.v_head_dim, "other v_head_dim");
  add(c.v_in_k, "V in K");
  add(c.layout == KvLayout::kPaged, "paged");
  add(c.layout == KvLayout::kRows, "plain rows");
  add(c.q_dtype != DType::kF32, "16-bit queries");
  add(c.out_dtype != DType::kF32, "bf16 output");
  add(c.q_lens.size() > 1, "ragged batch");
  add(c.format.k == DType::kF16, "f16 cache");
  add(c.format.k == DType::kBf16, "bf16 cache");
  add(c.format.k == DType::kQ8, "q8 cache");
  add(c.format.k == DType::kQ4, "q4 cache");
  add(quantised && c.compute == Compute::kInt8, "class int8");
  add(c.compute == Compute::kBf16, "class bf16");
  return options;
}

TEST(CasesCoverageTest, EveryOptionIsMetOftenAtEveryQueryCountAndAtAnOddGroup) {
  std::map<std::string, std::vector<AttentionCase>> by_option;
  size_t count = 0;
  for (const std::string& file : CaseFiles()) {
    for (const AttentionCase& c : CasesOf(file)) {
      ++count;
      for (const std::string& option : OptionsIn(c)) by_option[option].push_back(c);
    }
  }
  EXPECT_GE(count, 400u);
  EXPECT_EQ(by_option.size(), 26u);
  for (const auto& [option, cases] : by_option) {
    EXPECT_GE(cases.size(), 20u) << option;
    for (int64_t q_len : {1, 7, 48, 63, 64, 65}) {
      EXPECT_TRUE(std::any_of(
          cases.begin(), cases.end(),
          [&](const AttentionCase& c) { return std::find(c.q_lens.begin(), c.q_lens.end(), q_len) != c.q_lens.end(); }))
          << option << " with " << q_len << " query tokens";
    }
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(),
                            [](const AttentionCase& c) {
                              const int64_t group = c.num_q_heads / c.num_kv_heads;
                              return group > 1 && group % 2 == 1;
                            }))
        << option << " with an odd group";
  }
}

}  // namespace
}  // namespace attend
