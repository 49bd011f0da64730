// Tokens to text while they are generated: what Push returns is whole characters, ready to print. Bytes of a character
// that is not complete yet wait for the next token. All deltas together are exactly Tokenizer::Decode of all ids.
//
//   Detokenizer detokenizer(tokenizer, /*skip_special=*/true);
//   for (uint32_t id : ids) Print(detokenizer.Push(id));
//   Print(detokenizer.Flush());
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizer.h"

namespace attend {

class Detokenizer {
 public:
  // The tokenizer must outlive the detokenizer.
  Detokenizer(const Tokenizer& tokenizer, bool skip_special) : tokenizer_(&tokenizer), skip_special_(skip_special) {}

  // Ill-formed bytes come out as U+FFFD.
  std::string Push(uint32_t id);

  // Ends the text: U+FFFD when a character stayed incomplete, else nothing. The detokenizer can then start again.
  std::string Flush();

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  std::string pending_;  // at most 3 bytes: the start of a character
};

}  // namespace attend
