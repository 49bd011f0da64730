#include "model/generate.h"

#include <algorithm>

namespace attend {
namespace {

// Whether the last `length` ids stand in the ids before them (the two may overlap by all but one).
bool EndsInRepetition(const std::vector<uint32_t>& ids, int64_t length) {
  const int64_t count = static_cast<int64_t>(ids.size());
  if (length == 0 || count <= length) return false;
  const auto tail = ids.end() - length;
  return std::search(ids.begin(), ids.end() - 1, tail, ids.end()) != ids.end() - 1;
}

}  // namespace

std::string_view NameOf(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kRepetition:
      return "repetition";
    case FinishReason::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

Result<Generation> Generate(Transformer& transformer, KvCache& cache, std::span<const float> logits,
                            const GenerateOptions& options, const std::function<bool(uint32_t)>& on_token,
                            const ForwardHooks& hooks) {
  Generation out;
  const int64_t vocab = transformer.header().vocab_size;
  const auto best_of = [&](const float* row) {
    return static_cast<uint32_t>(std::max_element(row, row + vocab) - row);
  };
  uint32_t next = best_of(logits.data());
  while (static_cast<int64_t>(out.ids.size()) < options.max_tokens) {
    if (std::find(options.stop_ids.begin(), options.stop_ids.end(), next) != options.stop_ids.end()) {
      out.finish = FinishReason::kStop;
      return out;
    }
    out.ids.push_back(next);
    if (EndsInRepetition(out.ids, options.repetition_tokens)) {
      out.ids.resize(out.ids.size() - static_cast<size_t>(options.repetition_tokens));
      out.finish = FinishReason::kRepetition;
      return out;
    }
    if (on_token && !on_token(next)) {
      out.finish = FinishReason::kInterrupted;
      return out;
    }
    const uint32_t current = next;
    ATTEND_RETURN_IF_ERROR(transformer.Forward(
        {&current, 1}, cache, Logits::kLast, [&](int64_t, int64_t, const float* row, int64_t) { next = best_of(row); },
        hooks));
  }
  return out;
}

Result<std::vector<float>> Prefill(Transformer& transformer, KvCache& cache, std::span<const uint32_t> tokens,
                                   const std::function<bool(int64_t)>& keep_going, const ForwardHooks& hooks) {
  std::vector<float> last;
  const size_t chunk = static_cast<size_t>(transformer.max_tokens());
  for (size_t begin = 0; begin < tokens.size(); begin += chunk) {
    const size_t size = std::min(chunk, tokens.size() - begin);
    const bool is_last = begin + size == tokens.size();
    const auto keep = [&](int64_t, int64_t, const float* row, int64_t) {
      last.assign(row, row + transformer.header().vocab_size);
    };
    ATTEND_RETURN_IF_ERROR(
        transformer.Forward(tokens.subspan(begin, size), cache, is_last ? Logits::kLast : Logits::kNone, keep, hooks));
    if (keep_going && !keep_going(static_cast<int64_t>(begin + size)) && !is_last) {
      return tl::unexpected(Error{.code = ErrorCode::kInterrupted,
                                  .where = "reading",
                                  .subject = {},
                                  .expected = std::to_string(tokens.size()) + " tokens read",
                                  .found = std::to_string(begin + size),
                                  .hint = {}});
    }
  }
  return last;
}

}  // namespace attend
