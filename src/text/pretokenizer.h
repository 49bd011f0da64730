// Text to the pieces inside which BPE merges; hand-coded, one pass, no regex engine and so no input that makes it slow.
//
//   gpt-2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//   smollm   each \p{N} character is a piece, the stretches between them go through gpt-2's rule on their own, so that
//            \s+(?!\S) sees the end of the stretch and not the digit after it
//
// Pieces are in order and cover the text. Ill-formed UTF-8 is read as U+FFFD, byte for byte.
// Errors: tokenizer_unsupported, naming the pre-tokeniser.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "text/byte_range.h"

namespace attend {

enum class PretokenizerKind { kGpt2, kSmollm };

Result<PretokenizerKind> PretokenizerNamed(std::string_view name);

class PieceSplitter {
 public:
  // Keeps a view of the text.
  PieceSplitter(PretokenizerKind kind, std::string_view text) : kind_(kind), text_(text) {}

  // The next piece, or false at the end of the text.
  bool Next(ByteRange& piece);

 private:
  enum class Class : uint8_t { kEnd, kSpace, kLetter, kNumber, kOther };
  struct Char {
    Class kind;
    size_t length;  // bytes, 0 at the end
  };

  Char CharAt(size_t position) const;
  size_t EndOfRun(size_t position, Class kind) const;
  size_t EndOfSpaces(size_t position) const;
  size_t EndOfPiece() const;

  PretokenizerKind kind_;
  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace attend
