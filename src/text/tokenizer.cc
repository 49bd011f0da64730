#include "text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "text/tokenizer_tables.h"

namespace attend {
namespace {

// Names of the tokens that end a text or a turn in models of this kind. A file names one EOS, its models emit either.
constexpr std::string_view kStopNames[] = {"<|endoftext|>", "<|im_end|>"};

// Offsets into the text with every ill-formed part replaced by three bytes, turned into offsets of the text itself.
void MapToOriginal(std::string_view original, std::vector<size_t>& offsets) {
  size_t position = 0;  // in the original
  size_t clean = 0;     // the same place in the replaced text
  for (size_t& offset : offsets) {
    while (position < original.size()) {
      const Utf8Step step = DecodeUtf8(original, position);
      const size_t clean_length = step.valid ? step.length : 3;
      if (clean + clean_length > offset) break;
      clean += clean_length;
      position += step.length;
    }
    // A token may start inside a character that is well-formed; inside a replaced one it is counted from its start.
    const bool inside_valid = position < original.size() && DecodeUtf8(original, position).valid;
    offset = position + (inside_valid ? offset - clean : 0);
  }
}

}  // namespace

Result<Tokenizer> Tokenizer::Make(TokenizerTables tables) {
  ATTEND_RETURN_IF_ERROR(CheckTables(tables));
  Tokenizer tokenizer;
  ATTEND_ASSIGN_OR_RETURN(tokenizer.pretokenizer_, PretokenizerNamed(tables.pre));
  const TokenBytesTable bytes = MakeTokenBytes(tables);
  ATTEND_ASSIGN_OR_RETURN(tokenizer.bpe_, MakeByteBpe(tables, bytes));

  const size_t vocab_size = tables.tokens.size();
  tokenizer.is_special_.resize(vocab_size);
  tokenizer.token_offsets_.reserve(vocab_size + 1);
  for (uint32_t id = 0; id < vocab_size; ++id) {
    tokenizer.token_offsets_.push_back(tokenizer.token_bytes_.size());
    tokenizer.token_bytes_ += bytes[id].bytes;
    const bool is_control = tables.token_types[id] == kControlToken;
    tokenizer.is_special_[id] = is_control;
    if (is_control || tables.token_types[id] == kUserDefinedToken) {
      tokenizer.specials_[static_cast<uint8_t>(bytes[id].bytes[0])].push_back(id);
    }
  }
  tokenizer.token_offsets_.push_back(tokenizer.token_bytes_.size());
  for (std::vector<uint32_t>& ids : tokenizer.specials_) {
    std::stable_sort(ids.begin(), ids.end(),
                     [&](uint32_t a, uint32_t b) { return bytes[a].bytes.size() > bytes[b].bytes.size(); });
  }
  tokenizer.bos_id_ = tables.bos_id;
  tokenizer.eos_id_ = tables.eos_id;
  tokenizer.add_bos_ = tables.add_bos;
  tokenizer.CollectStopIds();
  return tokenizer;
}

void Tokenizer::CollectStopIds() {
  if (eos_id_) stop_ids_.push_back(*eos_id_);
  for (const std::string_view name : kStopNames) {
    const std::optional<uint32_t> id = FindSpecial(name);
    if (id && !IsStop(*id)) stop_ids_.push_back(*id);
  }
}

bool Tokenizer::IsStop(uint32_t id) const {
  return std::find(stop_ids_.begin(), stop_ids_.end(), id) != stop_ids_.end();
}

std::string_view Tokenizer::TokenBytes(uint32_t id) const {
  if (id >= vocab_size()) return {};
  return std::string_view(token_bytes_).substr(token_offsets_[id], token_offsets_[id + 1] - token_offsets_[id]);
}

std::optional<uint32_t> Tokenizer::FindSpecial(std::string_view name) const {
  const std::optional<SpecialMatch> match = FindNextSpecial(name, 0);
  return match && match->length == name.size() ? std::optional(match->id) : std::nullopt;
}

std::optional<SpecialMatch> Tokenizer::FindNextSpecial(std::string_view text, size_t from) const {
  for (size_t i = from; i < text.size(); ++i) {
    for (const uint32_t id : specials_[static_cast<uint8_t>(text[i])]) {
      const std::string_view name = TokenBytes(id);
      if (text.substr(i).starts_with(name)) return SpecialMatch{i, name.size(), id};
    }
  }
  return std::nullopt;
}

void Tokenizer::AppendPlain(std::string_view text, std::vector<uint32_t>& ids, std::vector<size_t>* offsets) const {
  std::string replaced;
  std::string_view clean = text;
  if (FindInvalidUtf8(text)) {
    ReplaceInvalidUtf8(text, replaced);
    clean = replaced;
  }
  PieceSplitter splitter(pretokenizer_, clean);
  for (ByteRange piece; splitter.Next(piece);) bpe_.Append(TextOf(clean, piece), piece.begin, ids, offsets);
  if (offsets != nullptr && !replaced.empty()) MapToOriginal(text, *offsets);
}

std::vector<uint32_t> Tokenizer::Encode(std::string_view text) const {
  std::vector<uint32_t> ids;
  AppendPlain(text, ids, nullptr);
  return ids;
}

Encoding Tokenizer::EncodeWithOffsets(std::string_view text) const {
  Encoding encoding;
  AppendPlain(text, encoding.ids, &encoding.offsets);
  return encoding;
}

std::vector<uint32_t> Tokenizer::EncodeWithSpecials(std::string_view text) const {
  std::vector<uint32_t> ids;
  size_t position = 0;
  while (const std::optional<SpecialMatch> match = FindNextSpecial(text, position)) {
    AppendPlain(text.substr(position, match->offset - position), ids, nullptr);
    ids.push_back(match->id);
    position = match->offset + match->length;
  }
  AppendPlain(text.substr(position), ids, nullptr);
  return ids;
}

std::string Tokenizer::Decode(std::span<const uint32_t> ids, bool skip_special) const {
  std::string bytes;
  for (const uint32_t id : ids) {
    if (!skip_special || !IsSpecial(id)) bytes += TokenBytes(id);
  }
  std::string text;
  ReplaceInvalidUtf8(bytes, text);
  return text;
}

}  // namespace attend
