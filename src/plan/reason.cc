#include "plan/reason.h"

#include <fmt/format.h>

#include "plan/budget.h"
#include "plan/number_text.h"

namespace attend {
namespace {

std::string TokensText(int64_t document, const Plan& p) {
  return fmt::format("{} tokens of document, {} of template and question and {} of answer", Grouped(document),
                     Grouped(p.question_tokens), Grouped(p.answer_tokens));
}

std::string ContextText(const Plan& p) {
  return p.context_tokens < p.trained_tokens
             ? fmt::format("the context of {} that was asked for", Grouped(p.context_tokens))
             : fmt::format("the {} that the model was trained on", Grouped(p.trained_tokens));
}

std::string SecondsOf(const PlanRequest& r, const Cut& cut) {
  const auto times = TimesOf(r, cut);
  return times ? SecondsText(times->total_s.expected) : "an unknown time";
}

// Why not one pass.
std::string Obstacle(const PlanRequest& r, const Plan& p) {
  const int64_t pass = p.document_tokens + OverheadTokens(r);
  switch (p.limit) {
    case Limit::kContext:
      return fmt::format("{} are {}, more than {}", TokensText(p.document_tokens, p), Grouped(pass), ContextText(p));
    case Limit::kMemory: {
      const PlanMemory m = MemoryOf(r, pass);
      return fmt::format("One pass needs {}, {} more than is usable", BytesText(m.total_bytes),
                         BytesText(m.total_bytes - m.usable_bytes));
    }
    case Limit::kTime:
      return fmt::format("One pass would take {}, the limit is {}", SecondsOf(r, {1, p.document_tokens}),
                         SecondsText(*r.time_limit_s));
    default:
      return fmt::format("Pieces of {} tokens were asked for", Grouped(p.piece_tokens));
  }
}

std::string RefusedText(const PlanRequest& r, const Plan& p) {
  const char* what = p.num_pieces == 1 ? "One pass"
                     : r.piece_tokens  ? "A piece of the size asked for"
                                       : "Even the smallest piece allowed";
  switch (p.limit) {
    case Limit::kContext:
      return fmt::format("{} does not fit: {} are {}, more than {}.", what, TokensText(p.piece_tokens, p),
                         Grouped(p.pass_tokens), ContextText(p));
    case Limit::kMemory:
      return fmt::format("{} ({} tokens with question and answer) needs {}; {} are usable, {} are lacking.", what,
                         Grouped(p.pass_tokens), BytesText(p.memory.total_bytes), BytesText(p.memory.usable_bytes),
                         BytesText(p.shortfall_bytes));
    case Limit::kTime:
      return fmt::format("No way to read it keeps to {}: the fastest, {} {}, takes {}.", SecondsText(*r.time_limit_s),
                         Grouped(p.num_pieces), p.num_pieces == 1 ? "pass" : "pieces",
                         SecondsOf(r, {p.num_pieces, p.piece_tokens}));
    default:
      return fmt::format("It fits in more than the {} pieces allowed only.", Grouped(r.max_pieces));
  }
}

}  // namespace

std::string ReasonFor(const PlanRequest& r, const Plan& p) {
  std::string text;
  if (p.verdict == Verdict::kRefused) {
    text = RefusedText(r, p);
  } else if (p.verdict == Verdict::kOnePass) {
    text = fmt::format("{} are {}: within {}. {} of the {} usable are needed.", TokensText(p.document_tokens, p),
                       Grouped(p.pass_tokens), ContextText(p), BytesText(p.memory.total_bytes),
                       BytesText(p.memory.usable_bytes));
  } else {
    text = fmt::format(
        "{}. {} pieces of {} tokens fit, each read on its own with the question; references across their {} are lost.",
        Obstacle(r, p), Grouped(p.num_pieces), Grouped(p.piece_tokens),
        p.num_pieces == 2 ? "border" : Grouped(p.num_pieces - 1) + " borders");
  }
  if (r.time_limit_s && !p.times) text += " The time limit was not checked: this machine is not calibrated.";
  return text;
}

}  // namespace attend
