// A tokenizer as a file holds it, and what is checked and made from it before it is used.
//
// Errors: tokenizer_unsupported (algorithm), tokenizer_bad (lists of different length, too many or too long tokens, an
// empty token, one text twice, an id outside the vocabulary, a merge of or to something that is no ordinary token).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/byte_bpe.h"

namespace attend {

// Nothing in it is trusted.
struct TokenizerTables {
  std::string model = "gpt2";        // algorithm: "gpt2" is byte-level BPE
  std::string pre;                   // pre-tokeniser: "smollm", "gpt-2"
  std::vector<std::string> tokens;   // by id, in GPT-2's printable spelling ("Ġworld")
  std::vector<std::string> merges;   // by rank, "Ġw orld"
  std::vector<int32_t> token_types;  // by id, GGUF's numbers
  std::optional<uint32_t> bos_id;
  std::optional<uint32_t> eos_id;
  bool add_bos = false;
};

inline constexpr int32_t kNormalToken = 1;
inline constexpr int32_t kControlToken = 3;
inline constexpr int32_t kUserDefinedToken = 4;

inline constexpr size_t kMaxVocabSize = size_t{1} << 22;
inline constexpr size_t kMaxTokenBytes = size_t{1} << 16;

struct TokenSpelling {
  std::string bytes;  // what the token stands for in a text
  bool mergeable;     // BPE may make it: not a control token, and spelled in GPT-2's alphabet
};
using TokenBytesTable = std::vector<TokenSpelling>;  // [vocab_size]

Result<void> CheckTables(const TokenizerTables& tables);

// Precondition: CheckTables passed. A token that is not spelled in GPT-2's alphabet stands for its own text.
TokenBytesTable MakeTokenBytes(const TokenizerTables& tables);

Result<ByteBpe> MakeByteBpe(const TokenizerTables& tables, const TokenBytesTable& bytes);

}  // namespace attend
