// Reads a document as its plan says, in one pass or in pieces, and answers questions about it.
//
//   quote  sentences of the document, verbatim, found by evidence; or that nothing answers. It cannot invent.
//   write  free text of the model, marked as its own words; the answers of several pieces are combined by the model.
//
// Either way each answer lists the passages that its tokens attended to most. Nothing is cut: every token of the
// document lies in exactly one piece, and the coverage says what was read. Errors: those of Transformer::Forward;
// question_too_long.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/load.h"
#include "document/passages.h"
#include "document/piece_reader.h"
#include "document/quote.h"
#include "tensor/kv_format.h"
#include "text/lines.h"

namespace attend {

enum class AnswerMode { kQuote, kWrite };
std::string_view NameOf(AnswerMode mode);  // "quote", "write"

// A document tokenised and cut into sentences, once.
struct PreparedDocument {
  const Document* document = nullptr;
  Encoding encoding;
  TextParts parts;
  LineIndex lines;

  static PreparedDocument Make(const Document& document, const Tokenizer& tokenizer);
  int64_t num_tokens() const { return static_cast<int64_t>(encoding.ids.size()); }
  ByteRange BytesOf(TokenRange tokens) const;
};

struct ReadingRequest {
  std::vector<std::string> questions;
  AnswerMode mode = AnswerMode::kQuote;
  std::vector<TokenRange> pieces;
  int64_t answer_tokens = 128;
  int64_t context_tokens = 0;  // what opening, piece, question and answer must fit
  KvFormat kv_format = {};
  size_t num_passages = 5;  // passages listed an answer
};

struct PieceReport {
  TokenRange planned;
  int64_t read_tokens = 0;
  double seconds = 0;
};

struct PieceAnswer {
  size_t piece = 0;
  std::string text;
  FinishReason finish = FinishReason::kStop;
  int64_t num_tokens = 0;
};

struct Answer {
  std::string question;
  QuoteAnswer quote;  // kQuote
  std::string text;   // kWrite: the model's own words
  FinishReason finish = FinishReason::kStop;
  std::vector<PieceAnswer> piece_answers;  // kWrite with several pieces: what `text` was combined from
  std::vector<AttendedPassage> looked_at;  // sentences, most attended first
  bool looked_at_by_question = false;      // the question's tokens, not the answer's (quotes from several pieces)
  int64_t num_tokens = 0;                  // generated
  double seconds = 0;                      // question and answer, all pieces
};

struct Reading {
  std::vector<PieceReport> pieces;
  std::vector<Answer> answers;    // one a question, in order
  std::vector<Passage> passages;  // kQuote: those read whole, which the answers' Evidence counts in
  int64_t read_tokens = 0;        // of the document
  double prefill_seconds = 0;
  double generate_seconds = 0;  // kWrite
  double evidence_seconds = 0;  // kQuote: the passages scored
  int64_t generated_tokens = 0;
  int64_t peak_cache_tokens = 0;
};

struct ReadingHooks {
  std::function<bool(int64_t done_tokens)> on_read =
      {};  // document tokens in all; false stops the reading, not the answering
  std::function<void(std::string_view delta)> on_text = {};  // kWrite with one piece: the answer as it is made
  std::function<void(size_t question)> on_question = {};
  std::function<void(int64_t done, int64_t total)> on_evidence = {};  // kQuote: tokens of the evidence pass
};

Result<Reading> ReadDocument(const PreparedDocument& document, const ReadingRequest& request, Transformer& transformer,
                             ThreadPool& pool, const Tokenizer& tokenizer, const DocumentPrompt& prompt,
                             const ReadingHooks& hooks);

}  // namespace attend
