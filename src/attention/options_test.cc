// Every refusal of an attention call names its argument, and nothing is written.
#include "attention/options.h"

#include <limits>

#include "attention/attention_test_util.h"
#include "cache/block_table.h"

namespace attend {
namespace {

void ExpectRefusal(const Error& error, const std::string& subject, const std::string& where = "attention") {
  EXPECT_EQ(error.code, ErrorCode::kAttentionBadShape) << subject;
  EXPECT_EQ(error.where, where);
  EXPECT_EQ(error.subject, subject);
  EXPECT_FALSE(error.expected.empty()) << subject;
  EXPECT_FALSE(error.found.empty()) << subject;
}

// A good question with two sequences; each refusal spoils one thing.
struct Question {
  std::vector<int64_t> q_lens = {70, 3}, kv_lens = {130, 5};
  AttentionShape shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = 8, .v_head_dim = 8};
  AttentionOptions options;
  std::vector<int64_t> prefix_lens = {2, 0};
  std::vector<int32_t> q_documents = std::vector<int32_t>(73, 1), kv_documents = std::vector<int32_t>(135, 1);
  std::vector<uint8_t> visible = std::vector<uint8_t>(135, 1);
  std::vector<int32_t> row_begins = {0, 2, 4}, key_tiles = {0, 1, 1, 2}, row_begins_1 = {0, 1}, key_tiles_1 = {0};
  std::vector<VisibleTiles> tiles;
  std::vector<float> bias = std::vector<float>(200, 0.0f), per_head = std::vector<float>(4, 1.0f);

  Result<void> Check() {
    shape.q_lens = q_lens;
    shape.kv_lens = kv_lens;
    return CheckAttention(shape, options);
  }
  void UseAll() {
    options.mask.prefix_lens = prefix_lens;
    options.mask.q_documents = q_documents;
    options.mask.kv_documents = kv_documents;
    options.mask.key_is_visible = visible;
    tiles = {{row_begins, key_tiles}, {row_begins_1, key_tiles_1}};
    options.mask.tiles = tiles;
    options.bias = {.data = bias.data(), .size = 200};
    options.alibi_slopes = options.sinks = options.head_scales = per_head;
  }
};

// spoil(question) before everything is pointed to, or after.
template <class Spoil>
void ExpectRefused(const std::string& subject, const Spoil& spoil, bool before = false) {
  Question question;
  if (before) spoil(question);
  question.UseAll();
  if (!before) spoil(question);
  const auto result = question.Check();
  ASSERT_FALSE(result) << subject;
  ExpectRefusal(result.error(), subject);
}
template <class Spoil>
void ExpectDataRefused(const std::string& subject, const Spoil& spoil) {
  ExpectRefused(subject, spoil, true);
}

TEST(OptionsTest, TheGoodQuestionIsGood) {
  Question question;
  EXPECT_TRUE(question.Check());
  question.UseAll();
  const auto result = question.Check();
  EXPECT_TRUE(result) << (result ? "" : Describe(result.error()));
}

TEST(OptionsTest, ShapesAreRefused) {
  ExpectRefused("num_kv_heads", [](Question& q) { q.shape.num_kv_heads = 0; });
  ExpectRefused("num_q_heads", [](Question& q) { q.shape.num_q_heads = 5; });
  ExpectRefused("num_q_heads", [](Question& q) { q.shape.num_q_heads = 0; });
  ExpectRefused("head_dim", [](Question& q) { q.shape.head_dim = 577; });
  ExpectRefused("head_dim", [](Question& q) { q.shape.head_dim = 0; });
  ExpectRefused("v_head_dim", [](Question& q) { q.shape.v_head_dim = -1; });
  ExpectRefused("v_head_dim", [](Question& q) { q.shape.v_head_dim = 577; });
  ExpectRefused("kv_lens", [](Question& q) { q.kv_lens = {130}; });
  ExpectRefused("lengths", [](Question& q) { q.q_lens[1] = -1; });
  ExpectRefused("lengths", [](Question& q) { q.kv_lens[1] = std::numeric_limits<int64_t>::max(); });
  ExpectRefused("lengths", [](Question& q) { q.q_lens[0] = (int64_t{1} << 40) + 1; });
}

TEST(OptionsTest, BandsAreRefused) {
  ExpectRefused("mask.window_left", [](Question& q) { q.options.mask.window_left = -2; });
  ExpectRefused("mask.window_left", [](Question& q) { q.options.mask = Mask::CausalWindow(-1); });
  ExpectRefused("mask.window_right", [](Question& q) { q.options.mask.window_right = -2; });
  ExpectRefused("mask.window_right", [](Question& q) { q.options.mask.window_right = 1; });  // causal
}

TEST(OptionsTest, ArraysOfTheMaskAreRefused) {
  ExpectDataRefused("mask.prefix_lens", [](Question& q) { q.prefix_lens.pop_back(); });
  ExpectDataRefused("mask.prefix_lens", [](Question& q) { q.prefix_lens[1] = -1; });
  ExpectDataRefused("mask.q_documents", [](Question& q) { q.q_documents.pop_back(); });
  ExpectDataRefused("mask.kv_documents", [](Question& q) { q.kv_documents.push_back(0); });
  ExpectDataRefused("mask.kv_documents", [](Question& q) { q.kv_documents.clear(); });
  ExpectDataRefused("mask.kv_documents", [](Question& q) { q.q_documents.clear(); });
  ExpectDataRefused("mask.key_is_visible", [](Question& q) { q.visible.pop_back(); });
}

TEST(OptionsTest, TilesAreRefusedInEveryWayOfBeingWrong) {
  ExpectRefused("mask.tiles", [](Question& q) { q.options.mask.tiles = q.options.mask.tiles.first(1); });
  const std::string first = "mask.tiles of sequence 0", second = "mask.tiles of sequence 1";
  ExpectDataRefused(first, [](Question& q) { q.row_begins.pop_back(); });
  ExpectDataRefused(first, [](Question& q) { q.row_begins.push_back(4); });
  ExpectDataRefused(first, [](Question& q) { q.row_begins.clear(); });
  ExpectDataRefused(first, [](Question& q) { q.row_begins = {1, 2, 4}; });
  ExpectDataRefused(first, [](Question& q) { q.row_begins = {0, 2, 3}; });
  ExpectDataRefused(first, [](Question& q) { q.row_begins = {0, 2, 5}; });
  ExpectDataRefused(first, [](Question& q) { q.row_begins = {0, 5, 4}; });
  ExpectDataRefused(first, [](Question& q) { q.row_begins = {0, -1, 4}; });
  ExpectDataRefused(first, [](Question& q) { q.key_tiles = {1, 0, 1, 2}; });
  ExpectDataRefused(first, [](Question& q) { q.key_tiles = {1, 1, 1, 2}; });
  ExpectDataRefused(first, [](Question& q) { q.key_tiles = {0, 1, 1, 3}; });
  ExpectDataRefused(first, [](Question& q) { q.key_tiles = {-1, 1, 1, 2}; });
  ExpectDataRefused(second, [](Question& q) { q.key_tiles_1 = {1}; });
  ExpectDataRefused(second, [](Question& q) { q.row_begins_1 = {0, 0}; });
}

TEST(OptionsTest, BiasIsRefused) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() / 2;
  ExpectRefused("bias.data dtype", [](Question& q) { q.options.bias.dtype = DType::kF64; });
  ExpectRefused("bias.data dtype", [](Question& q) { q.options.bias.dtype = DType::kBool; });
  ExpectRefused("bias.data", [](Question& q) {
    q.options.bias.data = reinterpret_cast<const uint8_t*>(q.bias.data()) + 2;  // good for halves only
  });
  ExpectRefused("bias.key_stride", [](Question& q) { q.options.bias.key_stride = 2; });
  ExpectRefused("bias.key_stride", [](Question& q) { q.options.bias.key_stride = -1; });
  ExpectRefused("bias strides", [](Question& q) { q.options.bias.head_stride = -1; });
  ExpectRefused("bias strides", [](Question& q) { q.options.bias.query_stride = -1; });
  ExpectRefused("bias strides", [](Question& q) { q.options.bias.sequence_stride = -1; });
  ExpectRefused("bias.size", [](Question& q) { q.options.bias.size = 129; });  // 130 keys
  ExpectRefused("bias.size", [](Question& q) { q.options.bias.size = -1; });
  ExpectRefused("bias.size", [](Question& q) { q.options.bias.query_stride = 2; });
  ExpectRefused("bias.size", [](Question& q) { q.options.bias.sequence_stride = 196; });  // of its 5 keys one too many
  ExpectRefused("bias.size", [](Question& q) { q.options.bias.query_stride = kHuge; });
  ExpectRefused("bias.size", [](Question& q) { q.options.bias.head_stride = q.options.bias.query_stride = kHuge; });
  Question fits;
  fits.UseAll();
  fits.options.bias.sequence_stride = 195;
  EXPECT_TRUE(fits.Check());
  fits.options.bias.size = 130;
  fits.options.bias.sequence_stride = 0;
  EXPECT_TRUE(fits.Check());
}

TEST(OptionsTest, NumbersAreRefused) {
  for (float bad : {-1.0f, kNan, kInfinity}) {
    ExpectRefused("softcap", [=](Question& q) { q.options.softcap = bad; });
    ExpectRefused("softmax_scale", [=](Question& q) { q.options.softmax_scale = bad; });
    ExpectDataRefused("head_scales", [=](Question& q) { q.per_head[2] = bad; });
  }
  ExpectDataRefused("head_scales", [](Question& q) { q.per_head[3] = 0; });
  ExpectRefused("softmax_scale", [](Question& q) { q.options.softmax_scale = 0.5f; });  // beside head_scales
  const std::vector<float> three(3, 1.0f);
  ExpectRefused("head_scales", [&](Question& q) { q.options.head_scales = three; });
  ExpectRefused("alibi_slopes", [&](Question& q) { q.options.alibi_slopes = three; });
  ExpectRefused("sinks", [&](Question& q) { q.options.sinks = three; });
  for (float bad : {kNan, kInfinity}) {
    const std::vector<float> four = {0.0f, bad, 0.0f, 0.0f};
    ExpectRefused("alibi_slopes", [&](Question& q) { q.options.alibi_slopes = four; });
    ExpectRefused("sinks", [&](Question& q) { q.options.sinks = four; });
  }
  const std::vector<float> none(4, -kInfinity);
  ExpectRefused("alibi_slopes", [&](Question& q) { q.options.alibi_slopes = none; });
  Question question;
  question.options.sinks = none;  // a sink of -inf is no sink
  EXPECT_TRUE(question.Check());
}

// A call over plain rows that is good; each refusal spoils one thing.
struct RunQuestion {
  std::vector<int64_t> q_lens = {3}, kv_lens = {6};
  AttentionShape shape = {.num_q_heads = 2, .num_kv_heads = 1, .head_dim = 8, .v_head_dim = 4};
  AttentionOptions options = {.compute = Compute::kF32};
  // One memory for all, so that parts can be made to overlap.
  std::vector<float> memory = std::vector<float>(400, 0.25f);
  AttentionQueries queries = {memory.data(), 16};
  AttentionOutput output = {.out = memory.data() + 100, .stride = 8, .lse = memory.data() + 200};
  PlainTensor k = {memory.data() + 300, DType::kF32, 8, 0, 48}, v = {memory.data() + 350, DType::kF32, 4, 0, 24};
  int64_t cache_tokens = 6;

  Result<AttentionCounters> Run() {
    shape.q_lens = q_lens;
    shape.kv_lens = kv_lens;
    const auto schedule = ScheduleAttention(shape, options);
    EXPECT_TRUE(schedule);
    const KvView views[] = {PlainKv(k, v, cache_tokens, 1, shape.head_dim, shape.v_head_dim)};
    ThreadPool pool(1);
    AttentionWorkspace workspace;
    return RunAttention(*schedule, queries, views, output, kScalarKernels, pool, workspace);
  }
};

template <class Spoil>
void ExpectRunRefused(const std::string& subject, const Spoil& spoil) {
  RunQuestion question;
  spoil(question);
  const auto result = question.Run();
  ASSERT_FALSE(result) << subject;
  ExpectRefusal(result.error(), subject);
  EXPECT_EQ(question.memory, std::vector<float>(400, 0.25f)) << "written in spite of the refusal: " << subject;
}

const void* OneByteOn(const void* p) {
  return static_cast<const uint8_t*>(p) + 1;
}

TEST(RunRefusalTest, TheGoodCallIsGood) {
  RunQuestion question;
  const auto result = question.Run();
  ASSERT_TRUE(result) << Describe(result.error());
  EXPECT_NE(question.memory, std::vector<float>(400, 0.25f));
}

TEST(RunRefusalTest, QueriesAreRefused) {
  using Q = RunQuestion;
  ExpectRunRefused("queries", [](Q& q) { q.queries.data = nullptr; });
  ExpectRunRefused("queries", [](Q& q) { q.queries.data = OneByteOn(q.queries.data); });
  ExpectRunRefused("queries stride", [](Q& q) { q.queries.stride = 15; });
  ExpectRunRefused("queries stride", [](Q& q) { q.queries.stride = -16; });
  ExpectRunRefused("queries stride", [](Q& q) { q.queries.stride = std::numeric_limits<int64_t>::max() / 2; });
  for (DType bad : {DType::kF64, DType::kI8, DType::kQ8}) {
    ExpectRunRefused("queries dtype", [=](Q& q) { q.queries.dtype = bad; });
  }
}

TEST(RunRefusalTest, OutputIsRefused) {
  using Q = RunQuestion;
  ExpectRunRefused("output", [](Q& q) { q.output.out = nullptr; });
  ExpectRunRefused("output", [](Q& q) { q.output.out = const_cast<void*>(OneByteOn(q.output.out)); });
  ExpectRunRefused("output stride", [](Q& q) { q.output.stride = 7; });
  ExpectRunRefused("output stride", [](Q& q) { q.output.stride = -8; });
  ExpectRunRefused("output stride", [](Q& q) { q.output.stride = std::numeric_limits<int64_t>::max() / 2; });
  for (DType bad : {DType::kF16, DType::kF64, DType::kQ4}) {
    ExpectRunRefused("output dtype", [=](Q& q) { q.output.dtype = bad; });
  }
}

// First and last value of each: an overlap of one is one too many.
TEST(RunRefusalTest, MemoryThatOverlapsIsRefused) {
  using Q = RunQuestion;
  ExpectRunRefused("output and queries", [](Q& q) { q.output.out = q.memory.data() + 47; });
  ExpectRunRefused("output and queries", [](Q& q) { q.queries.data = q.memory.data() + 123; });
  ExpectRunRefused("output and lse", [](Q& q) { q.output.lse = q.memory.data() + 123; });
  ExpectRunRefused("output and lse", [](Q& q) { q.output.lse = q.memory.data() + 95; });
  ExpectRunRefused("lse and queries", [](Q& q) { q.output.lse = q.memory.data() + 47; });
  ExpectRunRefused("output and k", [](Q& q) { q.output.out = q.memory.data() + 277; });
  ExpectRunRefused("output and k", [](Q& q) { q.output.out = q.memory.data() + 300; });
  ExpectRunRefused("output and v", [](Q& q) { q.output.out = q.memory.data() + 373; });
  RunQuestion beside;
  beside.output.out = beside.memory.data() + 48;
  beside.output.lse = beside.memory.data() + 72;
  EXPECT_TRUE(beside.Run()) << "side by side is not an overlap";
}

TEST(RunRefusalTest, PlainKeysAndValuesAreRefused) {
  using Q = RunQuestion;
  const std::string cache = "cache of sequence 0";
  ExpectRunRefused(cache + " k", [](Q& q) { q.k.data = nullptr; });
  ExpectRunRefused(cache + " k", [](Q& q) { q.k.data = OneByteOn(q.k.data); });
  ExpectRunRefused(cache + " v", [](Q& q) { q.v.data = OneByteOn(q.v.data); });
  ExpectRunRefused(cache + " k strides", [](Q& q) { q.k.token_stride = -8; });
  ExpectRunRefused(cache + " v strides", [](Q& q) { q.v.head_stride = -1; });
  ExpectRunRefused(cache + " k size", [](Q& q) { q.k.size = 47; });
  ExpectRunRefused(cache + " v size", [](Q& q) { q.v.size = 23; });
  ExpectRunRefused(cache + " v size", [](Q& q) { q.v.size = -1; });
  ExpectRunRefused(cache + " k size", [](Q& q) { q.k.token_stride = std::numeric_limits<int64_t>::max(); });
  ExpectRunRefused(cache + " tokens", [](Q& q) { q.cache_tokens = 5; });
  ExpectRunRefused("compute", [](Q& q) { q.options.compute = Compute::kInt8; });
  for (DType bad : {DType::kQ8, DType::kQ4}) {
    ExpectRunRefused(cache + " k dtype", [=](Q& q) { q.k.dtype = bad; });
    ExpectRunRefused(cache + " v dtype", [=](Q& q) { q.v.dtype = bad; });
  }
  ExpectRunRefused(cache + " format", [](Q& q) { q.k.dtype = DType::kF64; });
}

// V as the first columns of K: K must have that many.
TEST(RunRefusalTest, ValuesInKeysWiderThanTheKeysAreRefused) {
  ExpectRunRefused("cache of sequence 0 v_in_k", [](RunQuestion& q) {
    q.shape.v_head_dim = 9;
    q.output.stride = 18;
    q.v = {};
  });
}

TEST(RunRefusalTest, Int8OverACacheThatIsNotQuantisedIsRefused) {
  for (DType dtype : {DType::kF32, DType::kBf16, DType::kF16, DType::kQ8}) {
    AttentionProblem p{.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 8, .v_head_dim = 8};
    p.AddRandomSequence(1, 3, 1);
    const KvCache cache = MakeCache(p, p.sequences[0], dtype);
    const KvView views[] = {cache.View(0)};
    const std::vector<int64_t> q_lens = {1}, kv_lens = {3};
    const auto schedule = ScheduleAttention({1, 1, 8, 8, q_lens, kv_lens}, {.compute = Compute::kInt8});
    std::vector<float> out(8);
    ThreadPool pool(1);
    AttentionWorkspace workspace;
    const auto result = RunAttention(*schedule, {p.sequences[0].q.data(), 8}, views, {.out = out.data(), .stride = 8},
                                     kScalarKernels, pool, workspace);
    ASSERT_EQ(result.has_value(), dtype == DType::kQ8) << NameOf(dtype);
    if (!result) ExpectRefusal(result.error(), "compute");
  }
}

TEST(BlockTableTest, TablesAndPoolsAreRefused) {
  alignas(64) static uint8_t memory[4 * 128];
  const BlockPool pool = {memory, 4, 128};
  const auto expect = [](const BlockPool& of, const std::vector<int32_t>& table, int64_t tokens,
                         const std::string& subject) {
    const auto blocks = BlocksOf(of, table, tokens);
    ASSERT_FALSE(blocks) << subject;
    ExpectRefusal(blocks.error(), subject, "paged cache");
  };
  expect(pool, {0, 4}, 100, "block_table");   // beyond the pool
  expect(pool, {-1, 1}, 100, "block_table");  // negative
  expect(pool, {0, 1}, 129, "block_table");   // too short
  expect(pool, {}, 1, "block_table");
  expect(pool, {0}, -1, "block_table");
  expect({memory + 8, 3, 128}, {0}, 10, "pool");
  expect({memory, 4, 100}, {0}, 10, "pool");
  const auto blocks = BlocksOf(pool, std::vector<int32_t>{3, 0}, 128);
  ASSERT_TRUE(blocks);
  EXPECT_EQ(*blocks, (std::vector<const uint8_t*>{memory + 3 * 128, memory}));
}

}  // namespace
}  // namespace attend
