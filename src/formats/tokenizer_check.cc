#include "formats/tokenizer_check.h"

#include <string>

#include "formats/format_error.h"

namespace attend {
namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";

Result<void> CheckLength(const GgufFile& file, std::string_view key, uint64_t length, uint64_t num_tokens) {
  if (length == num_tokens) return {};
  return FormatError(ErrorCode::kTokenizerBad, file.name(), Subject("key", key),
                     std::to_string(num_tokens) + " values, one a token", std::to_string(length),
                     file.FindEntry(key)->offset);
}

Result<void> CheckId(const GgufFile& file, std::string_view key, uint64_t id, uint64_t num_tokens) {
  if (id < num_tokens) return {};
  return FormatError(ErrorCode::kTokenizerBad, file.name(), Subject("key", key),
                     "an id below " + std::to_string(num_tokens), std::to_string(id), file.FindEntry(key)->offset);
}

Result<void> CheckIds(const GgufFile& file, uint64_t num_tokens) {
  for (const GgufEntry& entry : file.entries()) {
    if (!entry.key.starts_with("tokenizer.ggml.") || !entry.key.ends_with("_token_id")) continue;
    ATTEND_ASSIGN_OR_RETURN(const uint64_t id, file.Unsigned(entry.key));
    ATTEND_RETURN_IF_ERROR(CheckId(file, entry.key, id, num_tokens));
  }
  constexpr std::string_view kSuppressed = "tokenizer.ggml.suppress_tokens";
  if (!file.Has(kSuppressed)) return {};
  ATTEND_ASSIGN_OR_RETURN(const std::vector<int64_t> suppressed, file.Integers(kSuppressed));
  for (const int64_t id : suppressed)
    ATTEND_RETURN_IF_ERROR(CheckId(file, kSuppressed, static_cast<uint64_t>(id), num_tokens));
  return {};
}

}  // namespace

Result<std::optional<uint64_t>> CheckTokenizer(const GgufFile& file) {
  constexpr std::string_view kModel = "tokenizer.ggml.model";
  ATTEND_ASSIGN_OR_RETURN(const std::string_view model, file.StringOr(kModel, "none"));
  if (model == "none" && !file.Has(kTokens)) return std::nullopt;
  ATTEND_RETURN_IF_ERROR(file.String(kModel));  // tokens of no stated kind
  if (model != "gpt2" && model != "llama") {
    return FormatError(ErrorCode::kTokenizerUnsupported, file.name(), Subject("key", kModel), "'gpt2' or 'llama'",
                       Quote(model), file.FindEntry(kModel)->offset);
  }
  ATTEND_ASSIGN_OR_RETURN(const std::vector<std::string_view> tokens, file.Strings(kTokens));
  if (tokens.empty()) {
    return FormatError(ErrorCode::kTokenizerBad, file.name(), Subject("key", kTokens), "at least one token", "none",
                       file.FindEntry(kTokens)->offset);
  }
  if (constexpr std::string_view kScores = "tokenizer.ggml.scores"; file.Has(kScores)) {
    ATTEND_ASSIGN_OR_RETURN(const std::vector<float> scores, file.Floats(kScores));
    ATTEND_RETURN_IF_ERROR(CheckLength(file, kScores, scores.size(), tokens.size()));
  }
  if (constexpr std::string_view kTypes = "tokenizer.ggml.token_type"; file.Has(kTypes)) {
    ATTEND_ASSIGN_OR_RETURN(const std::vector<int64_t> types, file.Integers(kTypes));
    ATTEND_RETURN_IF_ERROR(CheckLength(file, kTypes, types.size(), tokens.size()));
  }
  ATTEND_RETURN_IF_ERROR(CheckIds(file, tokens.size()));
  return tokens.size();
}

}  // namespace attend
