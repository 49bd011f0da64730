#include "text/pretokenizer.h"

#include <string>

#include "base/utf8.h"
#include "text/unicode.h"

namespace attend {
namespace {

// Length of the English contraction at the start of the text, 0 when there is none. The text starts with "'".
size_t ContractionLength(std::string_view text) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(ending)) return ending.size();
  }
  return 0;
}

}  // namespace

Result<PretokenizerKind> PretokenizerNamed(std::string_view name) {
  if (name == "smollm") return PretokenizerKind::kSmollm;
  if (name == "gpt-2" || name == "gpt2") return PretokenizerKind::kGpt2;
  return tl::unexpected(Error{.code = ErrorCode::kTokenizerUnsupported,
                              .where = "tokenizer",
                              .subject = "pre-tokeniser",
                              .expected = "smollm or gpt-2",
                              .found = "'" + std::string(name) + "'",
                              .hint = {}});
}

PieceSplitter::Char PieceSplitter::CharAt(size_t position) const {
  if (position >= text_.size()) return {Class::kEnd, 0};
  const Utf8Step step = DecodeUtf8(text_, position);
  if (IsWhiteSpace(step.code_point)) return {Class::kSpace, step.length};
  if (IsLetter(step.code_point)) return {Class::kLetter, step.length};
  return {IsNumber(step.code_point) ? Class::kNumber : Class::kOther, step.length};
}

size_t PieceSplitter::EndOfRun(size_t position, Class kind) const {
  for (Char c = CharAt(position); c.kind == kind; c = CharAt(position)) position += c.length;
  return position;
}

// \s+(?!\S)|\s+: a run of white space leaves its last character to what follows, unless that is all there is or the
// stretch ends. A single one before a letter is taken by " ?\p{L}+" when it is a space, so it stands alone here.
size_t PieceSplitter::EndOfSpaces(size_t position) const {
  size_t last = position;
  size_t end = position;
  for (Char c = CharAt(end); c.kind == Class::kSpace; c = CharAt(end)) {
    last = end;
    end += c.length;
  }
  const Class after = CharAt(end).kind;
  const bool stretch_ends = after == Class::kEnd || (kind_ == PretokenizerKind::kSmollm && after == Class::kNumber);
  return stretch_ends || last == position ? end : last;
}

size_t PieceSplitter::EndOfPiece() const {
  const Char first = CharAt(position_);
  if (kind_ == PretokenizerKind::kSmollm && first.kind == Class::kNumber) return position_ + first.length;
  if (text_[position_] == '\'') {
    const size_t length = ContractionLength(text_.substr(position_));
    if (length > 0) return position_ + length;
  }
  // " ?": one leading space belongs to the run after it; digits of smollm are not in this stretch.
  const size_t start = position_ + (text_[position_] == ' ' ? 1 : 0);
  const Class kind = CharAt(start).kind;
  const bool digit_apart = kind == Class::kNumber && kind_ == PretokenizerKind::kSmollm;
  if (kind == Class::kEnd || kind == Class::kSpace || digit_apart) return EndOfSpaces(position_);
  return EndOfRun(start, kind);
}

bool PieceSplitter::Next(ByteRange& piece) {
  if (position_ >= text_.size()) return false;
  piece = {position_, EndOfPiece()};
  position_ = piece.end;
  return true;
}

}  // namespace attend
