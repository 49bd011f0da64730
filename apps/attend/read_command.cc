// attend read DOC --ask Q: the decision, the reading, the answers.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "attend/calibrated.h"
#include "attend/command.h"
#include "attend/make_plan.h"
#include "attend/plan_output.h"
#include "attend/read_output.h"
#include "document/load.h"
#include "model/load.h"

namespace attend::cli {
namespace {

using Clock = std::chrono::steady_clock;
double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct ReadOptions {
  std::string document;
  std::vector<std::string> questions;
  std::string chat_template;
  EngineOptions engine;
  PlanOptions plan;
  OutputOptions output;
  LoadOptions load;
};

Error Refusal(const Plan& plan, const std::string& document) {
  Error error{.code = plan.limit == Limit::kContext || plan.limit == Limit::kMaxPieces ? ErrorCode::kContextExceeded
                                                                                       : ErrorCode::kDoesNotFit,
              .where = document,
              .subject = "plan",
              .expected = "a reading within the limits",
              .found = plan.reason,
              .hint = plan.changes.empty() ? "" : plan.changes.front().what,
              .byte_offset = std::nullopt};
  return error;
}

std::vector<TokenRange> PiecesOf(const Plan& plan, const PreparedDocument& document, bool piece_tokens_fixed) {
  if (plan.verdict == Verdict::kOnePass) return {{0, document.num_tokens()}};
  // Room to move a border to the end of a paragraph, unless the user fixed the size.
  const int64_t largest = piece_tokens_fixed ? plan.piece_tokens : std::max(plan.piece_tokens, plan.fits_tokens);
  return CutPieces(document.encoding, document.parts, plan.num_pieces, largest);
}

// Everything before the first weight is loaded: what may still say no.
struct Prepared {
  ModelFrontEnd front;
  Document document;
  PreparedDocument text{nullptr, {}, {}, LineIndex("")};
  DocumentPrompt prompt;
  Plan plan;
};

// Tokens of template and longest question. Errors: question_too_long when these and the answer leave no room for a
// document.
Result<int64_t> QuestionTokens(const ReadOptions& options, const Prepared& p) {
  const int64_t context = options.plan.context_tokens > 0 ? options.plan.context_tokens : p.front.header.max_seq_len;
  int64_t longest = 0;
  for (const std::string& question : options.questions) {
    const int64_t tokens = static_cast<int64_t>(p.prompt.before().size() + p.prompt.After(question).size());
    if (tokens + options.plan.answer_tokens >= context) {
      return tl::unexpected(
          Error{.code = ErrorCode::kQuestionTooLong,
                .where = "--ask",
                .subject = question.substr(0, 40) + "...",
                .expected = fmt::format("question and answer below the context of {} tokens", context),
                .found = fmt::format("{} and {}", tokens, options.plan.answer_tokens),
                .hint = "ask in fewer words",
                .byte_offset = std::nullopt});
    }
    longest = std::max(longest, tokens);
  }
  return longest;
}

Result<Plan> Decide(const ReadOptions& options, const Engine& engine, const Prepared& p) {
  ATTEND_ASSIGN_OR_RETURN(const int64_t question_tokens, QuestionTokens(options, p));
  const bool show = !options.output.quiet && !options.output.json;
  ATTEND_ASSIGN_OR_RETURN(const uint64_t memory_limit, MemoryLimit(options.plan, engine));
  const auto calibration =
      CalibrationFor(engine, p.front.header, {.remeasure = false, .quiet = !show, .memory_limit_bytes = memory_limit});
  const PlannedWork work{.document_tokens = p.text.num_tokens(),
                         .question_tokens = question_tokens,
                         .num_questions = static_cast<int64_t>(options.questions.size())};
  ATTEND_ASSIGN_OR_RETURN(const ModelFootprint footprint, FootprintOf(p.front));
  ATTEND_ASSIGN_OR_RETURN(const PlanRequest request,
                          RequestFor(footprint, engine, options.plan, work, calibration ? &*calibration : nullptr));
  return MakePlan(request);
}

Result<void> Prepare(const ReadOptions& options, const Engine& engine, Prepared& p) {
  ATTEND_ASSIGN_OR_RETURN(const std::string path, FindModel(options.engine));
  ATTEND_ASSIGN_OR_RETURN(p.document, LoadDocument(options.document, options.load));
  ATTEND_ASSIGN_OR_RETURN(p.front, LoadFrontEnd(path));
  if (!options.chat_template.empty()) {
    ATTEND_ASSIGN_OR_RETURN(p.front.chat_template, ChatTemplateNamed(options.chat_template));
  }
  ATTEND_ASSIGN_OR_RETURN(const Tokenizer* const tokenizer, TokenizerOf(p.front));
  ATTEND_ASSIGN_OR_RETURN(const ChatTemplate* const chat_template, ChatTemplateOf(p.front));
  ATTEND_ASSIGN_OR_RETURN(p.prompt, DocumentPrompt::Make(*chat_template, *tokenizer));
  p.text = PreparedDocument::Make(p.document, *tokenizer);
  ATTEND_ASSIGN_OR_RETURN(p.plan, Decide(options, engine, p));
  return {};
}

Outcome RunRead(const ReadOptions& options) {
  const auto begin = Clock::now();
  const uint64_t idle_bytes = ResidentBytes();
  ATTEND_ASSIGN_OR_RETURN(Engine engine, MakeEngine(options.engine));
  Prepared p;
  ATTEND_RETURN_IF_ERROR(Prepare(options, engine, p));
  const bool show = !options.output.quiet;
  if (show) fmt::print(stderr, "{}", PlanSummary(p.plan));
  if (p.plan.verdict == Verdict::kRefused) return tl::unexpected(Refusal(p.plan, p.document.name));

  const auto load_begin = Clock::now();
  ATTEND_ASSIGN_OR_RETURN(const LoadedModel model, LoadModelFor(options.engine, p.front.path, engine));
  const ModelHeader& header = model.front.header;
  ATTEND_ASSIGN_OR_RETURN(Transformer transformer,
                          Transformer::Make(header, model.weights, *engine.kernels, *engine.pool, engine.compute));
  ReadMeasurements measured;
  measured.load_seconds = SecondsSince(load_begin);

  const ReadingRequest request{.questions = options.questions,
                               .mode = AnswerModeFor(options.plan, ShapeOf(header)),
                               .pieces = PiecesOf(p.plan, p.text, options.plan.piece_tokens > 0),
                               .answer_tokens = options.plan.answer_tokens,
                               .context_tokens = p.plan.context_tokens,
                               .kv_format = engine.kv_format};
  const bool progress = show && !options.output.no_progress;
  std::optional<Progress> reading(std::in_place, "reading", "tokens", p.text.num_tokens(), progress);
  std::optional<Progress> evidence;
  const ReadingHooks hooks = {
      .on_read =
          [&](int64_t done) {
            reading->Update(done);
            return !Interrupted();
          },
      .on_text = {},
      .on_question = [&](size_t) { reading.emplace("reading", "tokens", p.text.num_tokens(), progress); },
      .on_evidence =
          [&](int64_t done, int64_t total) {
            if (!evidence) evidence.emplace("finding evidence", "tokens", total, progress);
            evidence->Update(done);
          }};
  ATTEND_ASSIGN_OR_RETURN(const Reading result, ReadDocument(p.text, request, transformer, *engine.pool,
                                                             *p.front.tokenizer, p.prompt, hooks));
  reading.reset();
  evidence.reset();
  measured.memory_bytes = PeakResidentBytes() - std::min(idle_bytes, PeakResidentBytes());
  measured.total_seconds = SecondsSince(begin);

  const ReadReport report{&p.text,
                          &request,
                          &result,
                          &p.plan,
                          &header,
                          p.front.path,
                          std::string(NameOf(engine.machine.isa)),
                          std::string(NameOf(engine.compute)),
                          measured};
  if (options.output.json) {
    fmt::print("{}\n", ReadJson(report).dump());
  } else {
    fmt::print("{}", ReadText(report, show));
  }
  return result.read_tokens == p.text.num_tokens() ? 0 : InfoOf(ErrorCode::kInterrupted).exit_status;
}

}  // namespace

void AddRead(Registry& registry) {
  auto options = std::make_shared<ReadOptions>();
  CLI::App* command = registry.Add(
      "read", "Read a document and answer questions about it, with quotes and where it looked",
      "  attend read contract.txt --ask \"When are invoices due?\"\n"
      "  attend read contract.txt --ask \"Who are the parties?\" --ask \"What ends the agreement?\" --json\n"
      "  cat notes.txt | attend read - --ask \"What was decided?\" --answer write -n 200");
  command->add_option("document", options->document, "UTF-8 text file, or - for standard input")->required();
  command->add_option("--ask", options->questions, "A question (repeatable: all share one reading)")
      ->required()
      ->take_all();
  command->add_option("--chat-template", options->chat_template,
                      "Use this template instead of the model's own: chatml");
  command->add_flag("--lossy", options->load.lossy, "Replace ill-formed UTF-8 instead of refusing the document");
  AddEngineOptions(command, options->engine);
  AddPlanOptions(command, options->plan);
  AddOutputOptions(command, options->output);
  registry.OnRun(command, [options] { return RunRead(*options); });
}

}  // namespace attend::cli
