// The stored attention calls (tests/golden/attention, NumPy float64) through the cache and the engine, class f32.
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "attention/attention_test_util.h"
#include "formats/safetensors.h"

namespace attend {
namespace {

const std::string kFolder = std::string(ATTEND_SOURCE_DIR) + "/tests/golden/attention/";

const nlohmann::json& Cases() {
  static const nlohmann::json cases = [] {
    std::ifstream file(kFolder + "cases.json");
    return nlohmann::json::parse(file).at("cases");
  }();
  return cases;
}

bool IsSet(const nlohmann::json& c, const char* key) {
  return c.contains(key) && !c.at(key).is_null();
}

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  for (const auto& c : Cases()) names.push_back(c.at("name"));
  return names;
}

template <class T>
std::vector<T> Load(const SafetensorsFile& file, const char* name) {
  const TensorEntry* entry = file.FindTensor(name);
  if (entry == nullptr) return {};
  std::vector<T> values(entry->bytes / sizeof(T));
  std::memcpy(values.data(), file.Data(*entry).data(), entry->bytes);
  return values;
}

// [batch, heads, tokens, dim] to [tokens, heads, dim] of one batch entry and the first `count` tokens.
template <class T>
std::vector<T> TokensFirst(const std::vector<T>& x, int64_t batch, int64_t heads, int64_t tokens, int64_t dim,
                           int64_t count) {
  std::vector<T> out;
  for (int64_t t = 0; t < count; ++t) {
    for (int64_t h = 0; h < heads; ++h) {
      const auto from = x.begin() + ((batch * heads + h) * tokens + t) * dim;
      out.insert(out.end(), from, from + dim);
    }
  }
  return out;
}

struct Golden {
  AttentionProblem problem;
  std::vector<std::vector<double>> out, lse;  // a sequence: [q_len, Hq, Dv], [q_len, Hq]
  std::vector<std::vector<float>> weights;    // a sequence: [q_len, Hq, kv_len], when stored
  double out_tolerance = 0, lse_tolerance = 0;
};

void LoadVarlen(const SafetensorsFile& file, Golden& g) {
  AttentionProblem& p = g.problem;
  const auto starts = Load<int32_t>(file, "cu_seqlens");
  const auto q = Load<float>(file, "q"), k = Load<float>(file, "k"), v = Load<float>(file, "v");
  const auto out = Load<double>(file, "out"), lse = Load<double>(file, "lse");
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const int64_t first = starts[i], last = starts[i + 1];
    const auto part = [&](const auto& x, int64_t width) {
      return std::decay_t<decltype(x)>(x.begin() + first * width, x.begin() + last * width);
    };
    p.sequences.push_back({last - first, last - first, part(q, p.num_q_heads * p.head_dim),
                           part(k, p.num_kv_heads * p.head_dim), part(v, p.num_kv_heads * p.v_head_dim)});
    g.out.push_back(part(out, p.num_q_heads * p.v_head_dim));
    g.lse.push_back(part(lse, p.num_q_heads));
  }
}

// Single calls are a batch of one. In the batched files keys beyond a sequence's length are garbage that stays in the
// cache.
void LoadBatch(const SafetensorsFile& file, const nlohmann::json& c, Golden& g) {
  AttentionProblem& p = g.problem;
  const std::vector<uint64_t>& q_shape = file.FindTensor("q")->shape;
  const std::vector<uint64_t>& k_shape = file.FindTensor("k")->shape;
  const int64_t q_tokens = static_cast<int64_t>(q_shape[q_shape.size() - 2]),
                k_tokens = static_cast<int64_t>(k_shape[k_shape.size() - 2]);
  const bool decode = file.FindTensor("kv_lens") != nullptr;
  std::vector<int64_t> lens = {k_tokens};
  if (IsSet(c, "lens")) lens = c.at("lens").get<std::vector<int64_t>>();
  for (int64_t b = 0; b < static_cast<int64_t>(lens.size()); ++b) {
    const int64_t kv_len = lens[b], q_len = IsSet(c, "lens") && !decode ? kv_len : q_tokens;
    const auto weights = Load<float>(file, "weights");
    p.sequences.push_back({q_len, kv_len,
                           TokensFirst(Load<float>(file, "q"), b, p.num_q_heads, q_tokens, p.head_dim, q_len),
                           TokensFirst(Load<float>(file, "k"), b, p.num_kv_heads, k_tokens, p.head_dim, k_tokens),
                           TokensFirst(Load<float>(file, "v"), b, p.num_kv_heads, k_tokens, p.v_head_dim, k_tokens)});
    g.out.push_back(TokensFirst(Load<double>(file, "out"), b, p.num_q_heads, q_tokens, p.v_head_dim, q_len));
    g.lse.push_back(TokensFirst(Load<double>(file, "lse"), b, p.num_q_heads, q_tokens, 1, q_len));
    if (!weights.empty()) g.weights.push_back(TokensFirst(weights, b, p.num_q_heads, q_tokens, k_tokens, q_len));
  }
}

Golden LoadGolden(const std::string& name) {
  const auto c = *std::find_if(Cases().begin(), Cases().end(), [&](const auto& x) { return x.at("name") == name; });
  const auto file = SafetensorsFile::Open(kFolder + name + ".safetensors");
  EXPECT_TRUE(file) << (file ? "" : Describe(file.error()));
  Golden g;
  g.problem.num_q_heads = c.at("q_heads");
  g.problem.num_kv_heads = c.at("kv_heads");
  g.problem.head_dim = c.at("head_dim");
  g.problem.v_head_dim = c.at("v_dim");
  g.problem.scale = c.at("scale").get<float>();
  g.problem.mask = !c.at("causal").get<bool>() ? Mask::None()
                   : IsSet(c, "window")        ? Mask::CausalWindow(c.at("window").get<int64_t>())
                                               : Mask::Causal();
  if (IsSet(c, "softcap")) g.problem.softcap = c.at("softcap");
  g.problem.bias = Load<float>(*file, "bias");
  g.problem.slopes = Load<float>(*file, "slopes");
  g.problem.sinks = Load<float>(*file, "sinks");
  g.out_tolerance = c.at("tolerance").at("out");
  g.lse_tolerance = c.at("tolerance").at("lse");
  if (file->FindTensor("cu_seqlens") != nullptr) {
    LoadVarlen(*file, g);
  } else {
    LoadBatch(*file, c, g);
  }
  return g;
}

class GoldenTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Case, GoldenTest, testing::ValuesIn(CaseNames()),
                         [](const auto& case_info) { return std::string(case_info.param); });

TEST_P(GoldenTest, EveryTableIsWithinTolerance) {
  const Golden g = LoadGolden(GetParam());
  for (const KernelTable* table : TablesHere()) {
    SCOPED_TRACE(table->name);
    for (int threads : {1, 2}) {
      const RunResult got = RunProblem(g.problem, *table, {Compute::kF32, DType::kF32, threads});
      for (size_t i = 0; i < g.out.size(); ++i) {
        EXPECT_LE(LargestDifference(got.out[i], g.out[i]), g.out_tolerance) << "out of sequence " << i;
        EXPECT_LE(LargestDifference(got.lse[i], g.lse[i]), g.lse_tolerance) << "lse of sequence " << i;
      }
      // Proof that no row went another way.
      EXPECT_EQ(got.counters.rows, g.problem.ExpectedRows());
    }
  }
}

TEST_P(GoldenTest, TheDoubleReferenceIsTheGolden) {
  const Golden g = LoadGolden(GetParam());
  if (g.problem.sequences[0].q_len > 1000) GTEST_SKIP() << "too slow in the reference";
  for (size_t i = 0; i < g.out.size(); ++i) {
    const ReferenceResult reference = g.problem.Reference(i);
    // The scale is a float here and a double there.
    const double lse_size = std::max(1.0, std::abs(g.lse[i].back()));
    EXPECT_LE(LargestDifference(reference.out, g.out[i]), std::max(1e-6, 0.1 * g.out_tolerance));
    EXPECT_LE(LargestDifference(reference.lse, g.lse[i]), 1e-6 * lse_size);
  }
}

// Exact rectangles of the attention matrix.
TEST_P(GoldenTest, RowWeightsAreTheGoldenWeights) {
  const Golden g = LoadGolden(GetParam());
  if (g.weights.empty()) GTEST_SKIP() << "the file stores no weights";
  const AttentionProblem& p = g.problem;
  const RunResult run = RunProblem(p, *TablesHere().back(), kExact);
  for (size_t i = 0; i < g.weights.size(); ++i) {
    const Sequence& s = p.sequences[i];
    const int64_t row_keys = static_cast<int64_t>(g.weights[i].size()) / (s.q_len * p.num_q_heads);
    for (const KernelTable* table : TablesHere()) {
      const std::vector<float> weights = WeightsOf(p.Alone(i), *table, kExact, run.lse[i]);
      std::vector<float> got(g.weights[i].size(), 0.0f);  // the file's rows may be longer
      for (int64_t row = 0; row < s.q_len * p.num_q_heads; ++row) {
        std::copy_n(weights.begin() + row * s.kv_len, s.kv_len, got.begin() + row * row_keys);
      }
      EXPECT_LE(LargestDifference(got, g.weights[i]), std::max(2e-5, g.lse_tolerance)) << table->name;
    }
  }
}

TEST(GoldenCasesTest, NoneIsForgotten) {
  EXPECT_EQ(Cases().size(), 45u);
}

}  // namespace
}  // namespace attend
