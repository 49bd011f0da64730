// A document as passages, the units that evidence ranks: paragraphs of a document, a heading joined to what follows it,
// short neighbours merged and long paragraphs split between sentences, so that most passages hold 40 to 200 tokens.
// Every sentence lies in exactly one passage and every token in exactly one; passages are in order. O(n). Nothing can
// fail.
#pragma once

#include <string_view>
#include <vector>

#include "document/pieces.h"
#include "text/sentences.h"
#include "text/tokenizer.h"

namespace attend {

struct Passage {
  ByteRange range;    // from its first sentence's first byte to its last sentence's last
  TokenRange tokens;  // of the document's encoding
  size_t first_sentence = 0;
  size_t end_sentence = 0;  // one past the last
};

struct PassageLimits {
  int64_t min_tokens = 40;   // shorter ones are merged with what follows
  int64_t max_tokens = 200;  // longer ones are split; a single longer sentence stays whole
};

// A short line without an end mark, or a number and a title with one ("5. Conveying Modified Source Versions."): it
// announces what follows and says nothing itself.
bool LooksLikeHeading(std::string_view sentence, int64_t num_tokens);

// `encoding` and `parts` are those of `text`.
std::vector<Passage> SplitPassages(std::string_view text, const Encoding& encoding, const TextParts& parts,
                                   const PassageLimits& limits = {});

}  // namespace attend
