// Negative log-likelihood of given tokens under a model, in nats: nll[t] = -ln p(token t+1 | tokens 0..t).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "model/forward.h"

namespace attend {

// Appends `tokens` to the cache in chunks of the transformer's size and returns [tokens.size() - 1] values, or all
// tokens.size() when `first_logits` says what was predicted before them ([vocab], the logits of the token before).
// `keep_going(done)` is asked after each chunk; when it says no, the values so far come back.
// Errors: those of Transformer::Forward.
Result<std::vector<float>> ScoreTokens(Transformer& transformer, KvCache& cache, std::span<const uint32_t> tokens,
                                       std::span<const float> first_logits = {},
                                       const std::function<bool(int64_t done)>& keep_going = {});

}  // namespace attend
