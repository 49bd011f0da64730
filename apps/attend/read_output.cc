#include "attend/read_output.h"

#include <fmt/format.h>

#include "attend/command.h"
#include "attend/plan_output.h"

namespace attend::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Lines {
  size_t first, last;
};

Lines LinesOf(const PreparedDocument& d, ByteRange range) {
  return {d.lines.LineOf(range.begin), d.lines.LineOf(range.end > range.begin ? range.end - 1 : range.begin)};
}

std::string LinesText(Lines lines) {
  return lines.first == lines.last ? fmt::format("line {}", lines.first)
                                   : fmt::format("lines {}-{}", lines.first, lines.last);
}

// The words of a range on one line.
std::string OneLine(std::string_view text) {
  std::string out;
  for (char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!space) out += c;
    if (space && !out.empty() && out.back() != ' ') out += ' ';
  }
  return EscapeForTerminal(out);
}

std::string Shortened(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;  // not inside a character
  return text.substr(0, limit) + "...";
}

std::string QuoteText(const PreparedDocument& d, const Answer& answer) {
  if (answer.quote.quotes.empty()) return "  Nothing in the document answers this.\n";
  std::string out;
  for (const Quote& quote : answer.quote.quotes) {
    out += fmt::format("  {}: \"{}\"\n", LinesText(LinesOf(d, quote.range)),
                       OneLine(TextOf(d.document->text, quote.range)));
  }
  return out;
}

std::string WrittenText(const PreparedDocument& d, const ReadReport& report, const Answer& answer) {
  std::string out =
      fmt::format("  {}\n  {}", Dim("The model's own words, not checked against the document:"), OneLine(answer.text));
  if (answer.finish != FinishReason::kStop) out += fmt::format(" [ended: {}]", NameOf(answer.finish));
  out += "\n";
  if (answer.piece_answers.size() < 2) return out;
  out += "  Combined from:\n";
  for (const PieceAnswer& part : answer.piece_answers) {
    const ByteRange bytes = d.BytesOf(report.reading->pieces[part.piece].planned);
    out += fmt::format("    piece {} ({}): {}\n", part.piece + 1, LinesText(LinesOf(d, bytes)),
                       Shortened(OneLine(part.text), 200));
  }
  return out;
}

std::string LookedAtText(const PreparedDocument& d, const Answer& answer) {
  if (answer.looked_at.empty() || answer.looked_at.front().share <= 0) return "";
  std::string out = Dim(answer.looked_at_by_question ? "  The question's tokens looked most at (sink tokens left out):"
                                                     : "  The answer's tokens looked most at (sink tokens left out):") +
                    "\n";
  for (const AttendedPassage& passage : answer.looked_at) {
    const ByteRange range = d.parts.sentences[passage.sentence].range;
    out += fmt::format("    {:>4.1f} %  {}: {}\n", 100 * passage.share, LinesText(LinesOf(d, range)),
                       Shortened(OneLine(TextOf(d.document->text, range)), 90));
  }
  return out;
}

// Precondition: something of the piece was read.
Lines ReadLines(const PreparedDocument& d, const PieceReport& piece) {
  return LinesOf(d, d.BytesOf({piece.planned.begin, piece.planned.begin + piece.read_tokens}));
}

std::string CoverageText(const ReadReport& report) {
  const PreparedDocument& d = *report.document;
  const Reading& r = *report.reading;
  if (r.read_tokens == d.num_tokens()) {
    return fmt::format("Read all {} tokens ({} lines) in {}.\n", d.num_tokens(), d.lines.num_lines(),
                       r.pieces.size() == 1 ? "one pass" : fmt::format("{} pieces", r.pieces.size()));
  }
  std::string out =
      fmt::format("Stopped: read {} of {} tokens. The answers rest on these only:", r.read_tokens, d.num_tokens());
  for (const PieceReport& piece : r.pieces) {
    if (piece.read_tokens == 0) continue;
    out += " " + LinesText(ReadLines(d, piece));
  }
  return out + "\n";
}

std::string FiguresText(const ReadReport& report) {
  const Reading& r = *report.reading;
  const Plan& plan = *report.plan;
  std::string out = fmt::format("Prefill {} ({:.0f} tokens/s", FormatSeconds(r.prefill_seconds),
                                static_cast<double>(r.read_tokens) / std::max(r.prefill_seconds, 1e-9));
  if (plan.times) out += fmt::format(", planned {}", FormatSeconds(plan.times->prefill_s.expected));
  out += ")";
  if (r.evidence_seconds > 0 && plan.times) {
    out += fmt::format(", evidence {} (planned {})", FormatSeconds(r.evidence_seconds),
                       FormatSeconds(plan.times->evidence_s.expected));
  }
  out += fmt::format(", memory {} (planned {}), {} in all.\n", FormatBytes(report.measured.memory_bytes),
                     FormatBytes(plan.memory.total_bytes), FormatSeconds(report.measured.total_seconds));
  return out;
}

Json LinesJson(Lines lines) {
  return Json::array({lines.first, lines.last});
}

Json PassagesJson(const PreparedDocument& d, const Evidence& evidence, const std::vector<Passage>& passages) {
  Json list = Json::array();
  for (const RankedPassage& ranked : evidence.passages) {
    list.push_back({{"lines", LinesJson(LinesOf(d, passages[ranked.passage].range))},
                    {"score", ranked.score},
                    {"bm25_rank", ranked.bm25_rank},
                    {"likelihood_rank", ranked.likelihood_rank},
                    {"attention_rank", ranked.attention_rank},
                    {"likelihood_gain", ranked.likelihood_gain}});
  }
  return list;
}

Json AnswerJson(const ReadReport& report, const Answer& answer) {
  const PreparedDocument& d = *report.document;
  Json json = {{"question", answer.question}, {"mode", NameOf(report.request->mode)}, {"seconds", answer.seconds}};
  if (report.request->mode == AnswerMode::kQuote) {
    json["nothing"] = answer.quote.quotes.empty();
    json["quotes"] = Json::array();
    for (const Quote& quote : answer.quote.quotes) {
      json["quotes"].push_back({{"lines", LinesJson(LinesOf(d, quote.range))},
                                {"bytes", {quote.range.begin, quote.range.end}},
                                {"text", TextOf(d.document->text, quote.range)},
                                {"score", quote.score}});
    }
    json["passages"] = PassagesJson(d, answer.quote.evidence, report.reading->passages);
  } else {
    json["text"] = answer.text;
    json["own_words"] = true;
    json["finish_reason"] = NameOf(answer.finish);
    json["completion_tokens"] = answer.num_tokens;
    json["pieces"] = Json::array();
    for (const PieceAnswer& part : answer.piece_answers) {
      json["pieces"].push_back({{"piece", part.piece},
                                {"text", part.text},
                                {"finish_reason", NameOf(part.finish)},
                                {"tokens", part.num_tokens}});
    }
  }
  json["looked_at_by"] = answer.looked_at_by_question ? "question" : "answer";
  json["looked_at"] = Json::array();
  for (const AttendedPassage& passage : answer.looked_at) {
    const ByteRange range = d.parts.sentences[passage.sentence].range;
    json["looked_at"].push_back(
        {{"lines", LinesJson(LinesOf(d, range))}, {"share", passage.share}, {"text", TextOf(d.document->text, range)}});
  }
  return json;
}

}  // namespace

std::string ReadText(const ReadReport& report, bool with_figures) {
  const PreparedDocument& d = *report.document;
  std::string out;
  for (const Answer& answer : report.reading->answers) {
    out += Bold("Q: " + EscapeForTerminal(answer.question)) + "\n";
    out += report.request->mode == AnswerMode::kQuote ? QuoteText(d, answer) : WrittenText(d, report, answer);
    out += LookedAtText(d, answer) + "\n";
  }
  out += CoverageText(report);
  if (with_figures) out += FiguresText(report);
  return out;
}

Json ReadJson(const ReadReport& report) {
  const PreparedDocument& d = *report.document;
  const Reading& r = *report.reading;
  Json pieces = Json::array(), answers = Json::array();
  for (const PieceReport& piece : r.pieces) {
    pieces.push_back({{"tokens", {piece.planned.begin, piece.planned.end}},
                      {"lines", LinesJson(LinesOf(d, d.BytesOf(piece.planned)))},
                      {"read_tokens", piece.read_tokens},
                      {"read_lines", piece.read_tokens > 0 ? LinesJson(ReadLines(d, piece)) : Json()},
                      {"seconds", piece.seconds}});
  }
  for (const Answer& answer : r.answers) answers.push_back(AnswerJson(report, answer));
  const auto predicted = [&](auto member) {
    return report.plan->times ? Json(((*report.plan->times).*member).expected) : Json();
  };
  const ModelShape shape = ShapeOf(*report.model);
  return {
      {"schema", "attend.read"},
      {"version", 1},
      {"document", d.document->name},
      {"model", report.model_path},
      {"isa", report.isa},
      {"compute", report.compute},
      {"document_tokens", d.num_tokens()},
      {"read_tokens", r.read_tokens},
      {"complete", r.read_tokens == d.num_tokens()},
      {"num_replaced", d.document->num_replaced},
      {"plan", PlanJson({.plan = *report.plan, .model = &shape})},
      {"pieces", pieces},
      {"answers", answers},
      {"timings",
       {{"load_s", report.measured.load_seconds},
        {"prefill_s", r.prefill_seconds},
        {"prefill_tokens_per_s", static_cast<double>(r.read_tokens) / std::max(r.prefill_seconds, 1e-9)},
        {"decode_s", r.generate_seconds},
        {"evidence_s", r.evidence_seconds},
        {"decode_tokens", r.generated_tokens},
        {"total_s", report.measured.total_seconds}}},
      {"predicted_and_measured",
       {{"memory_bytes", {{"predicted", report.plan->memory.total_bytes}, {"measured", report.measured.memory_bytes}}},
        {"prefill_s", {{"predicted", predicted(&PlanTimes::prefill_s)}, {"measured", r.prefill_seconds}}},
        {"evidence_s", {{"predicted", predicted(&PlanTimes::evidence_s)}, {"measured", r.evidence_seconds}}}}}};
}

}  // namespace attend::cli
