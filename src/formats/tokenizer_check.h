// The tokenizer's tables of a GGUF file against each other, before anything indexes them.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "formats/gguf.h"

namespace attend {

// The number of tokens, or nothing for a file without a tokenizer. Scores and types are as many as tokens, and every
// ..._token_id is the id of a token.
// Errors: gguf_bad_type, gguf_missing, gguf_bad_value, tokenizer_bad, tokenizer_unsupported (any kind but "gpt2" and
// "llama").
Result<std::optional<uint64_t>> CheckTokenizer(const GgufFile& file);

}  // namespace attend
