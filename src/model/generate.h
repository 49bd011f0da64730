// Greedy generation: the most likely token each step, until the model ends, the limit is reached, or it starts to
// repeat.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "model/forward.h"

namespace attend {

enum class FinishReason { kStop, kLength, kRepetition, kInterrupted };
std::string_view NameOf(FinishReason reason);  // "stop", "length", "repetition", "interrupted"

struct GenerateOptions {
  int64_t max_tokens = 128;
  std::span<const uint32_t> stop_ids = {};
  // Generation stops when the last `repetition_tokens` tokens stood in the answer before; they are then taken off. 0:
  // never.
  int64_t repetition_tokens = 16;
};

struct Generation {
  std::vector<uint32_t> ids;  // without the stop token
  FinishReason finish = FinishReason::kLength;
};

// Continues after `logits` ([vocab], of the last token in the cache). on_token(id) is called for each token as it is
// made and says whether to go on; hooks see each generated token's pass. Errors: those of Transformer::Forward.
Result<Generation> Generate(Transformer& transformer, KvCache& cache, std::span<const float> logits,
                            const GenerateOptions& options, const std::function<bool(uint32_t id)>& on_token = {},
                            const ForwardHooks& hooks = {});

// Feeds tokens (of any number) to the cache in chunks and returns the last token's logits [vocab]. `keep_going(done)`
// as in ScoreTokens: when it says no, what was read stays in the cache and the result is error interrupted.
Result<std::vector<float>> Prefill(Transformer& transformer, KvCache& cache, std::span<const uint32_t> tokens,
                                   const std::function<bool(int64_t done)>& keep_going = {},
                                   const ForwardHooks& hooks = {});

}  // namespace attend
