#include "document/reading.h"

#include <algorithm>
#include <chrono>

#include "document/combine.h"
#include "document/evidence_heads.h"
#include "text/detokenizer.h"

namespace attend {
namespace {

using Clock = std::chrono::steady_clock;
double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Carries out one request. Pieces are read one after another, each with all questions, so that one cache lives at a
// time.
class DocumentReading {
 public:
  DocumentReading(const PreparedDocument& document, const ReadingRequest& request, Transformer& transformer,
                  ThreadPool& pool, const Tokenizer& tokenizer, const DocumentPrompt& prompt, const ReadingHooks& hooks)
      : d_(document),
        r_(request),
        transformer_(transformer),
        pool_(pool),
        tokenizer_(tokenizer),
        prompt_(prompt),
        hooks_(hooks) {}

  Result<Reading> Run() {
    ATTEND_RETURN_IF_ERROR(CheckQuestions());
    ATTEND_ASSIGN_OR_RETURN(PieceReader reader, PieceReader::Make(transformer_, pool_, prompt_, r_.kv_format));
    for (const std::string& question : r_.questions) {
      out_.answers.emplace_back().question = question;
      mass_.emplace_back(static_cast<size_t>(d_.num_tokens()), 0.0);
      questions_.push_back({question, {}});
    }
    for (size_t piece = 0; piece < r_.pieces.size() && !stopped_; ++piece)
      ATTEND_RETURN_IF_ERROR(ReadPiece(reader, piece));
    if (r_.mode == AnswerMode::kQuote) {
      ATTEND_RETURN_IF_ERROR(Quote(reader));
    } else {
      ATTEND_RETURN_IF_ERROR(CombineWritten());
    }
    for (size_t q = 0; q < out_.answers.size(); ++q) {
      out_.answers[q].looked_at = TopPassages(mass_[q], 0, d_.encoding.offsets, d_.parts.sentences, r_.num_passages);
    }
    return std::move(out_);
  }

 private:
  Result<void> CheckQuestions() const {
    for (const std::string& question : r_.questions) {
      const int64_t needed =
          static_cast<int64_t>(prompt_.before().size() + prompt_.After(question).size()) + r_.answer_tokens;
      for (const TokenRange& piece : r_.pieces) {
        if (needed + piece.size() <= r_.context_tokens) continue;
        return tl::unexpected(
            Error{.code = ErrorCode::kQuestionTooLong,
                  .where = "question",
                  .subject = question.substr(0, 60),
                  .expected = "document, question and answer within " + std::to_string(r_.context_tokens) + " tokens",
                  .found = std::to_string(needed + piece.size()),
                  .hint = "ask in fewer words"});
      }
    }
    return {};
  }

  Result<void> ReadPiece(PieceReader& reader, size_t piece) {
    const TokenRange range = r_.pieces[piece];
    const auto begin = Clock::now();
    const int64_t read_before = out_.read_tokens;
    ATTEND_ASSIGN_OR_RETURN(
        const int64_t read,
        reader.Read(
            std::span(d_.encoding.ids).subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.size())),
            [&](int64_t done) { return !hooks_.on_read || hooks_.on_read(read_before + done); }));
    stopped_ = read < range.size();
    out_.read_tokens += read;
    out_.pieces.push_back({range, read, SecondsSince(begin)});
    out_.prefill_seconds += out_.pieces.back().seconds;
    if (read == 0) return {};
    if (r_.mode == AnswerMode::kQuote) ATTEND_RETURN_IF_ERROR(AskNeutral(reader, range));
    for (size_t q = 0; q < r_.questions.size(); ++q) ATTEND_RETURN_IF_ERROR(AskQuestion(reader, piece, q));
    return {};
  }

  Result<void> AskNeutral(PieceReader& reader, TokenRange range) {
    if (Heads().empty()) return {};
    ATTEND_ASSIGN_OR_RETURN(const AskedQuestion asked, reader.Ask(kNeutralQuestion, Heads()));
    Place(asked.selected_mass, range, neutral_mass_);
    return {};
  }

  Result<void> AskQuestion(PieceReader& reader, size_t piece, size_t q) {
    if (hooks_.on_question) hooks_.on_question(q);
    const auto begin = Clock::now();
    const TokenRange range = r_.pieces[piece];
    Answer& answer = out_.answers[q];
    ATTEND_ASSIGN_OR_RETURN(
        AskedQuestion asked,
        reader.Ask(r_.questions[q], r_.mode == AnswerMode::kQuote ? Heads() : std::span<const HeadAddress>()));
    out_.peak_cache_tokens = std::max(out_.peak_cache_tokens, asked.cache.num_tokens());
    if (r_.mode == AnswerMode::kQuote) {
      if (!Heads().empty()) Place(asked.selected_mass, range, questions_[q].mass);
      Place(asked.mass, range, mass_[q]);
      if (r_.pieces.size() == 1) asked_.push_back(std::move(asked));  // the quote's own tokens are run through it later
    } else {
      ATTEND_RETURN_IF_ERROR(WritePiece(reader, asked, piece, q));
    }
    answer.seconds += SecondsSince(begin);
    return {};
  }

  Result<void> WritePiece(PieceReader& reader, const AskedQuestion& asked, size_t piece, size_t q) {
    Detokenizer detokenizer(tokenizer_, true);
    const bool stream = r_.pieces.size() == 1 && hooks_.on_text != nullptr;
    const auto begin = Clock::now();
    ATTEND_ASSIGN_OR_RETURN(
        const PieceReader::Written written,
        reader.Write(asked, {.max_tokens = r_.answer_tokens, .stop_ids = tokenizer_.stop_ids()}, [&](uint32_t id) {
          const std::string delta = detokenizer.Push(id);
          if (stream && !delta.empty()) hooks_.on_text(delta);
          return true;
        }));
    out_.generate_seconds += SecondsSince(begin);
    const Generation& generation = written.generation;
    Place(written.mass, r_.pieces[piece], mass_[q]);
    Answer& answer = out_.answers[q];
    answer.num_tokens += static_cast<int64_t>(generation.ids.size());
    out_.generated_tokens += static_cast<int64_t>(generation.ids.size());
    out_.peak_cache_tokens =
        std::max(out_.peak_cache_tokens, asked.cache.num_tokens() + static_cast<int64_t>(generation.ids.size()));
    answer.piece_answers.push_back({piece, tokenizer_.Decode(generation.ids, true), generation.finish,
                                    static_cast<int64_t>(generation.ids.size())});
    return {};
  }

  Result<void> CombineWritten() {
    for (Answer& answer : out_.answers) {
      if (answer.piece_answers.empty()) continue;
      if (answer.piece_answers.size() == 1) {
        answer.text = answer.piece_answers[0].text;
        answer.finish = answer.piece_answers[0].finish;
        continue;
      }
      const auto begin = Clock::now();
      CombineRequest request{answer.question, {}, r_.context_tokens, r_.answer_tokens, r_.kv_format};
      for (const PieceAnswer& part : answer.piece_answers) request.answers.push_back(part.text);
      ATTEND_ASSIGN_OR_RETURN(const Generation combined, CombineAnswers(request, transformer_, tokenizer_, prompt_));
      answer.text = tokenizer_.Decode(combined.ids, true);
      answer.finish = combined.finish;
      answer.num_tokens += static_cast<int64_t>(combined.ids.size());
      answer.seconds += SecondsSince(begin);
    }
    return {};
  }

  Result<void> Quote(PieceReader& reader) {
    EvidenceDocument evidence{d_.document->text, &d_.encoding, &d_.parts, ReadPassages(), r_.pieces, neutral_mass_};
    out_.passages = evidence.passages;
    const auto begin = Clock::now();
    ATTEND_ASSIGN_OR_RETURN(
        std::vector<QuoteAnswer> quotes,
        FindQuotes(evidence, questions_, {&transformer_, &tokenizer_, r_.kv_format}, [&](int64_t done, int64_t total) {
          if (hooks_.on_evidence) hooks_.on_evidence(done, total);
          return true;
        }));
    out_.evidence_seconds = SecondsSince(begin);
    for (size_t q = 0; q < quotes.size(); ++q) {
      Answer& answer = out_.answers[q];
      answer.quote = std::move(quotes[q]);
      answer.looked_at_by_question = asked_.size() <= q || answer.quote.quotes.empty();
      if (answer.looked_at_by_question) continue;
      std::string text;
      for (const attend::Quote& quote : answer.quote.quotes)
        text += std::string(TextOf(d_.document->text, quote.range)) + " ";
      ATTEND_ASSIGN_OR_RETURN(const std::vector<double> mass, reader.MassOf(asked_[q], tokenizer_.Encode(text)));
      std::fill(mass_[q].begin(), mass_[q].end(), 0.0);
      Place(mass, r_.pieces[0], mass_[q]);
    }
    return {};
  }

  // The passages of which every token was read: a reading that was stopped quotes nothing else.
  std::vector<Passage> ReadPassages() const {
    std::vector<Passage> passages = SplitPassages(d_.document->text, d_.encoding, d_.parts);
    std::erase_if(passages, [&](const Passage& passage) {
      int64_t read = 0;
      for (const PieceReport& piece : out_.pieces) {
        const int64_t end = std::min(passage.tokens.end, piece.planned.begin + piece.read_tokens);
        read += std::max<int64_t>(0, end - std::max(passage.tokens.begin, piece.planned.begin));
      }
      return read < passage.tokens.size();
    });
    return passages;
  }

  std::span<const HeadAddress> Heads() const { return RetrievalHeads(transformer_.header()); }

  // Puts the mass of a piece's tokens where the piece lies in the document.
  void Place(const std::vector<double>& piece_mass, TokenRange range, std::vector<double>& document_mass) const {
    document_mass.resize(static_cast<size_t>(d_.num_tokens()), 0.0);
    std::copy(piece_mass.begin(), piece_mass.end(), document_mass.begin() + static_cast<std::ptrdiff_t>(range.begin));
  }

  const PreparedDocument& d_;
  const ReadingRequest& r_;
  Transformer& transformer_;
  ThreadPool& pool_;
  const Tokenizer& tokenizer_;
  const DocumentPrompt& prompt_;
  const ReadingHooks& hooks_;

  Reading out_;
  bool stopped_ = false;
  std::vector<EvidenceQuestion> questions_;
  std::vector<double> neutral_mass_;
  std::vector<std::vector<double>> mass_;  // per question: what its answer looked at, [document tokens]
  std::vector<AskedQuestion> asked_;       // per question, with one piece
};

}  // namespace

std::string_view NameOf(AnswerMode mode) {
  return mode == AnswerMode::kQuote ? "quote" : "write";
}

PreparedDocument PreparedDocument::Make(const Document& document, const Tokenizer& tokenizer) {
  return {&document, tokenizer.EncodeWithOffsets(document.text), SplitText(document.text), LineIndex(document.text)};
}

ByteRange PreparedDocument::BytesOf(TokenRange tokens) const {
  const auto offset = [&](int64_t token) {
    return token < num_tokens() ? encoding.offsets[static_cast<size_t>(token)] : document->text.size();
  };
  return {offset(tokens.begin), offset(tokens.end)};
}

Result<Reading> ReadDocument(const PreparedDocument& document, const ReadingRequest& request, Transformer& transformer,
                             ThreadPool& pool, const Tokenizer& tokenizer, const DocumentPrompt& prompt,
                             const ReadingHooks& hooks) {
  return DocumentReading(document, request, transformer, pool, tokenizer, prompt, hooks).Run();
}

}  // namespace attend
