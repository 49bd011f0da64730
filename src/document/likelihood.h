// How much likelier a question becomes when a text stands before it:
//
//   gain(question, text) = (ln p(question | text) - ln p(question)) / tokens of the question      [nats per token]
//
// The text is read once for all questions, then each question's tokens follow in a fork of the cache: for a document
// cut into passages about the linear cost of one prefill, and tokens(question) * num_texts more for each question.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/forward.h"
#include "tensor/kv_format.h"
#include "text/tokenizer.h"

namespace attend {

// What runs it; it makes its own short caches.
struct EvidenceModel {
  Transformer* transformer = nullptr;
  const Tokenizer* tokenizer = nullptr;
  KvFormat kv_format = {};
};

// Tokens done of all there are; says whether to go on.
using EvidenceProgress = std::function<bool(int64_t done_tokens, int64_t total_tokens)>;

// A longer text (a single endless sentence) is read this far.
inline constexpr size_t kLikelihoodTextTokens = 512;

// [questions][texts]. Errors: those of Transformer::Forward; interrupted when progress says no.
Result<std::vector<std::vector<double>>> LikelihoodGains(const EvidenceModel& model,
                                                         std::span<const std::span<const uint32_t>> texts,
                                                         std::span<const std::string> questions,
                                                         const EvidenceProgress& progress = {});

}  // namespace attend
