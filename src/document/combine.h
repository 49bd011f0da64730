// Combining the answers of pieces: the model reads them as a short document and answers again. Too many for one prompt
// are combined in groups first; every round has fewer, so it ends.
#pragma once

#include <string>
#include <vector>

#include "document/piece_reader.h"
#include "tensor/kv_format.h"

namespace attend {

struct CombineRequest {
  std::string question;
  std::vector<std::string> answers;  // of the pieces, in order; at least one
  int64_t context_tokens = 0;
  int64_t answer_tokens = 0;
  KvFormat kv_format = {};
};

// Errors: context_exceeded when not even two answers fit one prompt; those of Transformer::Forward.
Result<Generation> CombineAnswers(const CombineRequest& request, Transformer& transformer, const Tokenizer& tokenizer,
                                  const DocumentPrompt& prompt);

}  // namespace attend
