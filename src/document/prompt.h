// The prompt of a question about a document, in parts that are tokenised apart: the template's control tokens come from
// the template alone, so text of the document or the question can never become one. Everything up to the document's
// last token is the same for every question and is read once.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace attend {

class DocumentPrompt {
 public:
  // Errors: bad_argument when the template has no user role.
  static Result<DocumentPrompt> Make(const ChatTemplate& chat_template, const Tokenizer& tokenizer);

  // What comes before the document's tokens: system message, opening of the user's message, one sentence of
  // instruction.
  std::span<const uint32_t> before() const { return before_; }

  // What follows the document: the question and the opening of the answer.
  std::vector<uint32_t> After(std::string_view question) const;

  // A text in the place of the document, whole: for short texts.
  std::vector<uint32_t> Whole(std::span<const uint32_t> text_ids, std::string_view question) const;

 private:
  const Tokenizer* tokenizer_ = nullptr;
  std::vector<uint32_t> before_;
  std::vector<uint32_t> closing_;  // end of the user's message and opening of the assistant's
};

}  // namespace attend
