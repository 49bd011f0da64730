#include "measure/model_bench.h"

#include <algorithm>
#include <charconv>

#include "measure/model_work.h"
#include "measure/timer.h"

namespace attend {
namespace {

constexpr int64_t kLargestCount = 1 << 24;

// Tokens as good as any: speed does not depend on which they are. The peers' worker feeds the same.
uint32_t TokenAt(int64_t position, uint32_t vocab_size) {
  return static_cast<uint32_t>((position * 7919 + 13) % vocab_size);
}

// Takes "512" off the front of `text`.
bool TakeCount(std::string_view& text, int64_t lowest, int64_t& count) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < lowest || count > kLargestCount) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool Take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool Parse(std::string_view text, ModelTest& test) {
  if (Take(text, "tg")) {
    test.kind = ModelTestKind::kGeneration;
  } else if (!Take(text, "pp")) {
    return false;
  }
  if (!TakeCount(text, 1, test.tokens)) return false;
  if (text.empty()) return true;
  return Take(text, "@d") && TakeCount(text, 0, test.depth) && text.empty();
}

}  // namespace

Result<ModelTest> ParseModelTest(std::string_view text) {
  std::string plain(text);
  std::erase(plain, ' ');
  ModelTest test;
  if (Parse(plain, test)) return test;
  return tl::unexpected(Error{.code = ErrorCode::kBadArgument,
                              .where = "--tests",
                              .subject = {},
                              .expected = "ppN or tgN, with @dN for a depth: pp512, tg64@d7500",
                              .found = std::string(text),
                              .hint = {}});
}

Result<std::vector<ModelTest>> ParseModelTests(std::string_view text) {
  std::vector<ModelTest> tests;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    ATTEND_ASSIGN_OR_RETURN(const ModelTest test, ParseModelTest(text.substr(begin, end - begin)));
    tests.push_back(test);
    begin = end + 1;
  }
  return tests;
}

std::string NameOf(const ModelTest& test) {
  std::string name = (test.kind == ModelTestKind::kPrompt ? "pp" : "tg") + std::to_string(test.tokens);
  if (test.depth > 0) name += " @ d" + std::to_string(test.depth);
  return name;
}

Result<ModelBench> ModelBench::Make(const ModelHeader& header, const ModelWeights& weights, const KernelTable& kernels,
                                    ThreadPool& pool, Compute compute, KvFormat kv_format) {
  ATTEND_ASSIGN_OR_RETURN(Transformer transformer, Transformer::Make(header, weights, kernels, pool, compute));
  ATTEND_ASSIGN_OR_RETURN(KvCache cache, KvCache::Make(CacheDescriptors(header, kv_format)));
  return ModelBench(weights, std::move(transformer), std::move(cache), kv_format);
}

Result<double> ModelBench::Run(const ModelTest& test) {
  if (prefix_.num_tokens() < test.depth) ATTEND_RETURN_IF_ERROR(Read(prefix_, test.depth - prefix_.num_tokens()));
  KvCache cache = prefix_.Fork();
  cache.Truncate(test.depth);
  const Timer timer;
  ATTEND_RETURN_IF_ERROR(test.kind == ModelTestKind::kPrompt ? Read(cache, test.tokens) : Generate(cache, test.tokens));
  return timer.Seconds();
}

// In chunks as the application reads; the logits of the last token only.
Result<void> ModelBench::Read(KvCache& cache, int64_t tokens) {
  const int64_t end = cache.num_tokens() + tokens;
  std::vector<uint32_t> chunk;
  while (cache.num_tokens() < end) {
    const int64_t first = cache.num_tokens(), count = std::min(transformer_.max_tokens(), end - first);
    chunk.clear();
    for (int64_t i = 0; i < count; ++i) chunk.push_back(TokenAt(first + i, transformer_.header().vocab_size));
    const Logits wanted = first + count == end ? Logits::kLast : Logits::kNone;
    ATTEND_RETURN_IF_ERROR(transformer_.Forward(chunk, cache, wanted, [](int64_t, int64_t, const float*, int64_t) {}));
  }
  return {};
}

// Without a sampler: the peers are timed without one, too.
Result<void> ModelBench::Generate(KvCache& cache, int64_t tokens) {
  for (int64_t i = 0; i < tokens; ++i) {
    const uint32_t token = TokenAt(cache.num_tokens(), transformer_.header().vocab_size);
    ATTEND_RETURN_IF_ERROR(
        transformer_.Forward({&token, 1}, cache, Logits::kLast, [](int64_t, int64_t, const float*, int64_t) {}));
  }
  return {};
}

double ModelBench::BoundSeconds(const ModelTest& test, const Peaks& peaks) const {
  const ModelHeader& header = transformer_.header();
  if (test.kind == ModelTestKind::kPrompt) {
    return PromptFlops(header, test.tokens, test.depth) / peaks.FlopsPerSecond(transformer_.compute());
  }
  return GenerationBytes(header, *weights_, kv_format_, test.tokens, test.depth) / peaks.read_bytes_per_s;
}

}  // namespace attend
