// Text to token ids and back, exactly as the model's own byte-level BPE tokenizer does it.
//
//   text -> U+FFFD for ill-formed UTF-8 -> pieces (pretokenizer.h) -> tokens of each piece (byte_bpe.h)
//
// Text of a document or a user is encoded with Encode(): what looks like a control token in it ("<|im_end|>") is
// ordinary text and never yields a control id. Only a program's own text, such as a chat template, goes through
// EncodeWithSpecials().
//
// Errors (of Make alone): tokenizer_unsupported, tokenizer_bad. Encoding is O(n log n) in bytes and cannot fail.
//
//   ATTEND_ASSIGN_OR_RETURN(Tokenizer tokenizer, Tokenizer::Make(std::move(tables)));
//   std::vector<uint32_t> ids = tokenizer.Encode("Hello world");   // 19556 905
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/byte_bpe.h"
#include "text/pretokenizer.h"
#include "text/tokenizer_tables.h"

namespace attend {

struct Encoding {
  std::vector<uint32_t> ids;
  std::vector<size_t> offsets;  // of each token's first byte in the text given; rising, same length as ids
};

struct SpecialMatch {
  size_t offset;
  size_t length;
  uint32_t id;
};

class Tokenizer {
 public:
  static Result<Tokenizer> Make(TokenizerTables tables);

  // No BOS is added, whatever add_bos() says.
  std::vector<uint32_t> Encode(std::string_view text) const;
  Encoding EncodeWithOffsets(std::string_view text) const;

  // As Encode, but the text of a control or user-defined token becomes that token (leftmost, then longest).
  std::vector<uint32_t> EncodeWithSpecials(std::string_view text) const;

  // Bytes of the tokens, ill-formed UTF-8 replaced by U+FFFD. Ids outside the vocabulary have no text.
  std::string Decode(std::span<const uint32_t> ids, bool skip_special) const;

  // The raw bytes of a token (maybe part of a character); a control token's are its name. Empty outside the vocabulary.
  std::string_view TokenBytes(uint32_t id) const;

  bool IsSpecial(uint32_t id) const { return id < is_special_.size() && is_special_[id]; }  // control tokens only
  std::optional<uint32_t> FindSpecial(std::string_view name) const;  // exact name of a control or user-defined token
  std::optional<SpecialMatch> FindNextSpecial(std::string_view text, size_t from) const;

  size_t vocab_size() const { return is_special_.size(); }
  std::optional<uint32_t> bos_id() const { return bos_id_; }
  std::optional<uint32_t> eos_id() const { return eos_id_; }
  bool add_bos() const { return add_bos_; }

  // Every id after which generation stops: eos_id and the end-of-text tokens of chat models that the vocabulary has.
  std::span<const uint32_t> stop_ids() const { return stop_ids_; }
  bool IsStop(uint32_t id) const;

 private:
  Tokenizer() = default;

  void CollectStopIds();
  void AppendPlain(std::string_view text, std::vector<uint32_t>& ids, std::vector<size_t>* offsets) const;

  PretokenizerKind pretokenizer_ = PretokenizerKind::kGpt2;
  ByteBpe bpe_;
  std::string token_bytes_;                          // all tokens' bytes one after the other
  std::vector<size_t> token_offsets_;                // [vocab_size + 1] into token_bytes_
  std::vector<bool> is_special_;                     // [vocab_size]
  std::array<std::vector<uint32_t>, 256> specials_;  // control and user-defined ids by first byte, longest name first
  std::optional<uint32_t> bos_id_;
  std::optional<uint32_t> eos_id_;
  bool add_bos_ = false;
  std::vector<uint32_t> stop_ids_;
};

}  // namespace attend
