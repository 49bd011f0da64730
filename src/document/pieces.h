// Cutting a document into the pieces of a plan: every token lies in exactly one piece, borders fall between paragraphs
// where one is near and between sentences otherwise.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/sentences.h"
#include "text/tokenizer.h"

namespace attend {

struct TokenRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const TokenRange&) const = default;
};

// At least `num_pieces` ranges of at most `max_tokens` tokens that cover all tokens in order. A border is moved back by
// up to a quarter of a piece to the end of a paragraph, else of a sentence, else it falls where it falls.
std::vector<TokenRange> CutPieces(const Encoding& encoding, const TextParts& parts, int64_t num_pieces,
                                  int64_t max_tokens);

}  // namespace attend
