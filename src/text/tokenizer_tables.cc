#include "text/tokenizer_tables.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace attend {
namespace {

tl::unexpected<Error> Bad(std::string subject, std::string expected, std::string found) {
  return Refused(ErrorCode::kTokenizerBad, "tokenizer", std::move(subject), std::move(expected), std::move(found));
}

// A text from the file, short enough for a message.
std::string Quoted(std::string_view text) {
  constexpr size_t kShownBytes = 60;
  const bool cut = text.size() > kShownBytes;
  return "'" + std::string(text.substr(0, kShownBytes)) + (cut ? "...'" : "'");
}

Result<void> CheckId(const char* name, std::optional<uint32_t> id, size_t vocab_size) {
  if (!id || *id < vocab_size) return {};
  return Bad(name, "an id below " + std::to_string(vocab_size), std::to_string(*id));
}

Result<void> CheckTokens(const std::vector<std::string>& tokens) {
  std::unordered_set<std::string_view> seen;
  seen.reserve(tokens.size());
  for (size_t id = 0; id < tokens.size(); ++id) {
    const std::string& token = tokens[id];
    const std::string subject = "token " + std::to_string(id);
    if (token.empty()) return Bad(subject, "a text", "an empty one");
    if (token.size() > kMaxTokenBytes) {
      return Bad(subject, "at most " + std::to_string(kMaxTokenBytes) + " bytes", std::to_string(token.size()));
    }
    if (!seen.insert(token).second) return Bad(subject, "a text that no other token has", Quoted(token));
  }
  return {};
}

using MergeableIds = std::unordered_map<std::string_view, uint32_t>;

// "LEFT RIGHT" to ids. The texts are spelled in GPT-2's alphabet, which has no space of its own.
Result<BpeMerge> ParseMerge(std::string_view text, size_t rank, const MergeableIds& ids) {
  const std::string subject = "merge " + std::to_string(rank);
  const size_t space = text.find(' ');
  if (space == std::string_view::npos) return Bad(subject, "two tokens with a space between", Quoted(text));
  const std::string_view left = text.substr(0, space);
  const std::string_view right = text.substr(space + 1);
  const std::string joined = std::string(left) + std::string(right);
  BpeMerge merge = {.left = 0, .right = 0, .joined = 0, .rank = static_cast<uint32_t>(rank)};
  for (const auto& [part, id] : {std::pair(left, &merge.left), std::pair(right, &merge.right),
                                 std::pair(std::string_view(joined), &merge.joined)}) {
    const auto found = ids.find(part);
    if (found == ids.end()) return Bad(subject, "ordinary tokens of the vocabulary", Quoted(part));
    *id = found->second;
  }
  return merge;
}

}  // namespace

Result<void> CheckTables(const TokenizerTables& tables) {
  if (tables.model != "gpt2") {
    return tl::unexpected(Error{.code = ErrorCode::kTokenizerUnsupported,
                                .where = "tokenizer",
                                .subject = "model",
                                .expected = "gpt2 (byte-level BPE)",
                                .found = Quoted(tables.model),
                                .hint = {}});
  }
  const size_t vocab_size = tables.tokens.size();
  const std::string limit = std::to_string(kMaxVocabSize);
  if (vocab_size == 0 || vocab_size > kMaxVocabSize) return Bad("tokens", "1 to " + limit, std::to_string(vocab_size));
  if (tables.merges.size() > kMaxVocabSize)
    return Bad("merges", "at most " + limit, std::to_string(tables.merges.size()));
  if (tables.token_types.size() != vocab_size) {
    return Bad("token types", std::to_string(vocab_size) + ", one a token", std::to_string(tables.token_types.size()));
  }
  ATTEND_RETURN_IF_ERROR(CheckId("bos id", tables.bos_id, vocab_size));
  ATTEND_RETURN_IF_ERROR(CheckId("eos id", tables.eos_id, vocab_size));
  return CheckTokens(tables.tokens);
}

TokenBytesTable MakeTokenBytes(const TokenizerTables& tables) {
  TokenBytesTable table;
  table.reserve(tables.tokens.size());
  for (size_t id = 0; id < tables.tokens.size(); ++id) {
    const int32_t type = tables.token_types[id];
    const bool verbatim = type == kControlToken || type == kUserDefinedToken;
    std::optional<std::string> bytes = verbatim ? std::nullopt : BytesOfSpelling(tables.tokens[id]);
    const bool mergeable = bytes.has_value();
    table.push_back({std::move(bytes).value_or(tables.tokens[id]), mergeable});
  }
  return table;
}

Result<ByteBpe> MakeByteBpe(const TokenizerTables& tables, const TokenBytesTable& bytes) {
  std::array<uint32_t, 256> byte_tokens;
  byte_tokens.fill(ByteBpe::kNoToken);
  MergeableIds ids;
  ids.reserve(bytes.size());
  for (uint32_t id = 0; id < bytes.size(); ++id) {
    if (!bytes[id].mergeable) continue;
    ids.emplace(tables.tokens[id], id);
    if (bytes[id].bytes.size() == 1) byte_tokens[static_cast<uint8_t>(bytes[id].bytes[0])] = id;
  }

  std::vector<BpeMerge> merges;
  merges.reserve(tables.merges.size());
  std::unordered_set<std::string_view> seen;
  seen.reserve(tables.merges.size());
  for (size_t rank = 0; rank < tables.merges.size(); ++rank) {
    if (!seen.insert(tables.merges[rank]).second) {
      return Bad("merge " + std::to_string(rank), "a pair that no other merge has", Quoted(tables.merges[rank]));
    }
    ATTEND_ASSIGN_OR_RETURN(const BpeMerge merge, ParseMerge(tables.merges[rank], rank, ids));
    merges.push_back(merge);
  }
  return ByteBpe(byte_tokens, std::move(merges), bytes.size());
}

}  // namespace attend
