// A document cut into paragraphs and sentences, as byte ranges of the text. Hand-written rules for English and Chinese:
//
//   a sentence ends   at . ! ? and their full-width forms, unless the point belongs to an abbreviation ("Ltd."), an
//                     initial, a number ("1.5") or a section number at the start of a line ("7.2", "1.");
//                     at a blank line; after a heading; at a line that was ended on purpose
//   lines are joined  where a paragraph was wrapped by hand: the next word would not have fitted
//   a paragraph ends  at a blank line; in a text without any, at each line ended on purpose and before each numbered
//   clause
//
// Ranges are trimmed, in order and disjoint; only white space lies outside them. Every sentence lies in one paragraph.
// O(n). Nothing can fail; ill-formed UTF-8 is taken as ordinary characters.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "text/byte_range.h"

namespace attend {

struct Sentence {
  ByteRange range;
  size_t paragraph = 0;  // index into SplitText::paragraphs
};

struct TextParts {
  std::vector<ByteRange> paragraphs;
  std::vector<Sentence> sentences;
};

TextParts SplitText(std::string_view text);

// Index of the sentence that holds the byte. White space between two belongs to the one after it, as a token carries
// its leading space; white space at the end belongs to the last. Precondition: there are sentences.
size_t SentenceAt(std::span<const Sentence> sentences, size_t offset);

}  // namespace attend
