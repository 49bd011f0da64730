#include "model/score.h"

#include <algorithm>

namespace attend {

Result<std::vector<float>> ScoreTokens(Transformer& transformer, KvCache& cache, std::span<const uint32_t> tokens,
                                       std::span<const float> first_logits,
                                       const std::function<bool(int64_t)>& keep_going) {
  const int64_t vocab = transformer.header().vocab_size;
  const int64_t count = static_cast<int64_t>(tokens.size());
  const auto nll_of = [&](const float* logits, uint32_t token) {
    return transformer.kernels().log_sum_exp(logits, vocab) - logits[token];
  };
  std::vector<float> nll;
  if (!first_logits.empty() && count > 0) nll.push_back(nll_of(first_logits.data(), tokens[0]));
  for (int64_t begin = 0; begin < count; begin += transformer.max_tokens()) {
    const int64_t size = std::min(transformer.max_tokens(), count - begin);
    const auto take = [&](int64_t first_row, int64_t rows, const float* logits, int64_t stride) {
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t next = begin + first_row + r + 1;
        if (next < count) nll.push_back(nll_of(logits + r * stride, tokens[next]));
      }
    };
    ATTEND_RETURN_IF_ERROR(transformer.Forward(tokens.subspan(begin, size), cache, Logits::kAll, take));
    if (keep_going && !keep_going(begin + size)) break;
  }
  return nll;
}

}  // namespace attend
