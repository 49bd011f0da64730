// One piece of a document in a KV cache, and questions put to it: the document's tokens are read once, every question
// continues on a fork of that cache.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "document/pieces.h"
#include "document/prompt.h"
#include "inspect/attended_mass.h"
#include "model/forward.h"
#include "model/generate.h"
#include "tensor/kv_format.h"

namespace attend {

// What a question's own tokens looked at, and where generation can go on from.
struct AskedQuestion {
  KvCache cache;              // document and question
  std::vector<float> logits;  // [vocab] of the question's last token
  std::vector<double>
      selected_mass;         // per document token of the piece and question token, the heads given; empty: none were
  std::vector<double> mass;  // per document token of the piece, all heads
};

// Called with the document tokens read so far; false stops the reading.
using ReadProgress = std::function<bool(int64_t done_tokens)>;

class PieceReader {
 public:
  // All arguments must outlive the reader. Errors: those of KvCache::Make.
  static Result<PieceReader> Make(Transformer& transformer, ThreadPool& pool, const DocumentPrompt& prompt,
                                  KvFormat kv_format);

  // Reads the prompt's opening and the tokens of a piece into an empty cache. Returns the document tokens that were
  // read: fewer than given only when `progress` stopped it. Errors: those of Transformer::Forward.
  Result<int64_t> Read(std::span<const uint32_t> tokens, const ReadProgress& progress);

  // Reads a question on a fork of the piece's cache. `selected_heads` may be empty.
  Result<AskedQuestion> Ask(std::string_view question, std::span<const HeadAddress> selected_heads);

  // What `tokens`, fed after a question, look at: mass per document token of the piece, all heads.
  Result<std::vector<double>> MassOf(const AskedQuestion& asked, std::span<const uint32_t> tokens);

  // Generates an answer after a question and says what it looked at.
  struct Written {
    Generation generation;
    std::vector<double> mass;  // per document token of the piece
  };
  Result<Written> Write(const AskedQuestion& asked, const GenerateOptions& options,
                        const std::function<bool(uint32_t)>& on_token);

  int64_t num_cache_tokens() const { return cache_.num_tokens(); }

 private:
  PieceReader(Transformer& transformer, ThreadPool& pool, const DocumentPrompt& prompt, KvCache cache)
      : transformer_(&transformer), pool_(&pool), prompt_(&prompt), cache_(std::move(cache)) {}
  std::vector<double> OfDocument(std::span<const double> mass) const;

  Transformer* transformer_;
  ThreadPool* pool_;
  const DocumentPrompt* prompt_;
  KvCache cache_;
  int64_t num_document_tokens_ = 0;
};

}  // namespace attend
