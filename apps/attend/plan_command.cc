// attend plan: whether and how a document can be read here, before anything is loaded.
#include <fmt/format.h>

#include "attend/calibrated.h"
#include "attend/command.h"
#include "attend/make_plan.h"
#include "attend/plan_output.h"
#include "attend/planned_model.h"
#include "document/load.h"

namespace attend::cli {
namespace {

struct PlanCommandOptions {
  std::string document;
  int64_t tokens = 0;
  int64_t question_tokens = kQuestionReserveTokens;
  std::string policy;
  bool explain = false;
  bool calibrate = false;
  LoadOptions load;
  EngineOptions engine;
  PlanOptions plan;
  OutputOptions output;
};

Result<int64_t> DocumentTokens(const PlanCommandOptions& options, const std::optional<ModelFrontEnd>& front) {
  if (options.document.empty() == (options.tokens == 0)) {
    return tl::unexpected(
        UsageError("attend plan", "a document or --tokens", options.document.empty() ? "neither" : "both"));
  }
  if (options.tokens > 0) return options.tokens;
  if (!front) {
    return tl::unexpected(UsageError("attend plan", "--tokens: this model has no tokenizer here", options.document));
  }
  ATTEND_ASSIGN_OR_RETURN(const Tokenizer* const tokenizer, TokenizerOf(*front));
  ATTEND_ASSIGN_OR_RETURN(const Document document, LoadDocument(options.document, options.load));
  return static_cast<int64_t>(tokenizer->Encode(document.text).size());
}

Outcome RunPlan(const PlanCommandOptions& options) {
  ATTEND_ASSIGN_OR_RETURN(const Engine engine, MakeEngine(options.engine));
  ATTEND_ASSIGN_OR_RETURN(const PlannedModel model, FindPlannedModel(options.engine, options.policy));
  ATTEND_ASSIGN_OR_RETURN(const int64_t tokens, DocumentTokens(options, model.front));
  // Speeds are measured with the model's own shape: of one that does not run here there are none.
  std::optional<Calibration> calibration;
  if (model.front) {
    calibration =
        CalibrationFor(engine, model.front->header,
                       {.remeasure = options.calibrate, .quiet = options.output.quiet || options.output.json});
  }
  const PlannedWork work{.document_tokens = tokens, .question_tokens = options.question_tokens};
  ATTEND_ASSIGN_OR_RETURN(const Plan plan,
                          PlanFor(model.footprint, engine, options.plan, work, calibration ? &*calibration : nullptr));
  const ModelShape& shape = model.footprint.shape;
  if (options.output.json) {
    fmt::print("{}\n", PlanJson(plan, shape, options.explain).dump(2));
  } else {
    fmt::print("{}", options.output.quiet ? PlanSummary(plan) : PlanTable(plan, shape, options.explain));
  }
  return plan.verdict == Verdict::kRefused ? 1 : 0;
}

}  // namespace

void AddPlan(Registry& registry) {
  auto options = std::make_shared<PlanCommandOptions>();
  CLI::App* command =
      registry.Add("plan", "Decide before anything is loaded: one pass, pieces or refused, with memory and time",
                   "  attend plan contract.txt\n  attend plan --tokens 7500 --memory 2GiB\n"
                   "  attend plan contract.txt --time 60 --explain\n"
                   "  attend plan -m llama-3.1-8b --tokens 128000 --memory 40GB\n"
                   "  attend plan -m config.json --tokens 32768 --explain");
  command->add_option("document", options->document, "UTF-8 text file, or - for standard input");
  command->add_option("--tokens", options->tokens, "Plan for this many tokens instead of a document")
      ->check(CLI::Range(int64_t{1}, kMaxPlanTokens));
  command->add_option("--question-tokens", options->question_tokens, "Tokens of the chat template and the question")
      ->check(CLI::Range(int64_t{0}, kMaxPlanTokens))
      ->capture_default_str();
  command
      ->add_option("--policy", options->policy,
                   "Whose memory: ours, what this program allocates; formula, weights and cache exactly (default: ours "
                   "where the model runs here)")
      ->check(CLI::IsMember({"ours", "formula"}));
  command->add_flag("--explain", options->explain, "Show every number with its formula and inputs");
  command->add_flag("--calibrate", options->calibrate, "Measure this machine's speeds again");
  command->add_flag("--lossy", options->load.lossy, "Replace ill-formed UTF-8 instead of refusing the document");
  AddEngineOptions(command, options->engine);
  AddPlanOptions(command, options->plan);
  AddOutputOptions(command, options->output);
  registry.OnRun(command, [options] { return RunPlan(*options); });
}

}  // namespace attend::cli
