// attend plan: whether and how a document can be read here, before anything is loaded.
#include "attend/plan_command.h"

#include <fmt/format.h>

#include "attend/calibrated.h"
#include "attend/find_device.h"
#include "plan/scaled_speeds.h"

namespace attend::cli {
namespace {

// The document's tokens, and how many are planned for: with --verify the first --tokens of them.
Result<void> ReadDocumentTokens(const PlanCommandOptions& options, Planning& p) {
  const bool has_document = !options.document.empty(), has_tokens = options.tokens > 0;
  if (has_document == has_tokens && !(has_document && options.verify)) {
    if (!has_document && !options.sweep.empty()) return {};  // the sweep says the lengths
    return tl::unexpected(UsageError("attend plan", "a document or --tokens", has_document ? "both" : "neither"));
  }
  p.document_tokens = options.tokens;
  if (!has_document) return {};
  if (!p.model.front) {
    return tl::unexpected(UsageError("attend plan", "--tokens: this model has no tokenizer here", options.document));
  }
  ATTEND_ASSIGN_OR_RETURN(const Tokenizer* const tokenizer, TokenizerOf(*p.model.front));
  ATTEND_ASSIGN_OR_RETURN(const Document document, LoadDocument(options.document, options.load));
  p.ids = tokenizer->Encode(document.text);
  const int64_t available = static_cast<int64_t>(p.ids.size());
  if (options.tokens > available) {
    return tl::unexpected(
        UsageError("--tokens", fmt::format("at most the document's {}", available), std::to_string(options.tokens)));
  }
  if (!has_tokens) p.document_tokens = available;
  return {};
}

std::optional<Calibration> MeasuredSpeeds(const PlanCommandOptions& options, const Planning& p) {
  return CalibrationFor(p.engine, p.model.front->header,
                        {.remeasure = options.calibrate, .quiet = options.output.quiet || options.output.json});
}

// On another processor: this one's, scaled, once it was measured (attend devices --measure).
std::optional<Calibration> SpeedsElsewhere(const PlanCommandOptions& options, const Planning& p) {
  const auto here = FindDevice(kThisMachine);
  if (!here) return std::nullopt;
  const auto measured = MeasuredSpeeds(options, p);
  return measured ? ScaledSpeeds(*measured, *here, *p.device) : std::nullopt;
}

Outcome RunOnePlan(const PlanCommandOptions& options, const Planning& planning) {
  ATTEND_ASSIGN_OR_RETURN(const PlanRequest request, RequestOf(options, planning, planning.policy));
  ATTEND_ASSIGN_OR_RETURN(const Plan plan, MakePlan(request));
  PlanReport report{.plan = plan,
                    .model = &request.footprint.shape,
                    .device = DeviceText(planning.DeviceOrNull()),
                    .explain = options.explain};
  if (AsksForCapacity(options.setting)) report.capacity = CapacityOf(request, plan, options.setting.demand);
  if (options.output.json) {
    fmt::print("{}\n", PlanJson(report).dump(2));
  } else if (options.markdown) {
    fmt::print("{}", PlanMarkdown(report));
  } else {
    fmt::print("{}", options.output.quiet ? PlanSummary(plan) : PlanTable(report));
  }
  return plan.verdict == Verdict::kRefused ? 1 : 0;
}

Outcome RunPlan(const PlanCommandOptions& options) {
  if (!options.scenario.empty()) return RunPlanScenario(options);
  ATTEND_ASSIGN_OR_RETURN(Planning planning, PreparePlanning(options));
  if (options.verify) return RunPlanVerify(options, planning);
  if (!options.emit.empty()) return RunPlanEmit(options, planning);
  if (!options.plot.empty()) return RunPlanPlot(options, planning);
  if (!options.sweep.empty()) return RunPlanSweep(options, planning);
  if (options.setting.policy == "all") return RunPlanPolicies(options, planning);
  return RunOnePlan(options, planning);
}

}  // namespace

Result<Planning> PreparePlanning(const PlanCommandOptions& options) {
  Planning p;
  p.idle_bytes = ResidentBytes();
  ATTEND_ASSIGN_OR_RETURN(p.device, DeviceFor(options.setting));
  ATTEND_ASSIGN_OR_RETURN(
      p.model, FindPlannedModel(options.engine, options.document.empty() ? TokenizerUse::kSkip : TokenizerUse::kLoad));
  ATTEND_RETURN_IF_ERROR(ApplyWeights(options.setting.weights, p.model));
  ATTEND_ASSIGN_OR_RETURN(p.policy, PolicyFor(options.setting, p.model, p.DeviceOrNull()));
  if (!options.emit.empty()) p.policy = *FindPolicy(options.emit);
  EngineOptions engine = options.engine;
  // Read by the policy's names; side by side each policy says itself whether it has such a cache.
  if (p.policy != Policy::kOurs || (options.setting.policy == "all" && !ParseKvFormat(engine.kv))) engine.kv.clear();
  ATTEND_ASSIGN_OR_RETURN(p.engine, MakeEngine(engine));
  ATTEND_RETURN_IF_ERROR(ReadDocumentTokens(options, p));
  // Speeds are measured with the model's own shape: of one that does not run here there are none.
  if (p.model.front && !p.device) {
    p.calibration = MeasuredSpeeds(options, p);
  } else if (p.policy == Policy::kOurs) {
    p.calibration = SpeedsElsewhere(options, p);
  }
  return p;
}

Result<PlanRequest> RequestOf(const PlanCommandOptions& options, const Planning& p, Policy policy) {
  ATTEND_ASSIGN_OR_RETURN(const ModelFootprint footprint, FootprintFor(p.model, policy));
  const PlannedWork work{.document_tokens = p.document_tokens, .question_tokens = options.question_tokens};
  ATTEND_ASSIGN_OR_RETURN(PlanRequest request, RequestFor(footprint, p.engine, options.plan, work,
                                                          p.calibration ? &*p.calibration : nullptr));
  ATTEND_ASSIGN_OR_RETURN(request.kv_format, KvFormatFor(options.engine.kv, policy, p.engine));
  // Quoting is what this program does, and --verify runs the plan's two phases alone.
  if (policy != Policy::kOurs || options.verify) request.runtime.quoted_questions = 0;
  // Other runtimes' speeds here are not known.
  if (!p.device && policy != Policy::kOurs && policy != Policy::kFormula) request.calibration = std::nullopt;
  request.holds_text = !options.verify;
  ApplySetting(options.setting, p.DeviceOrNull(), !options.plan.memory.empty(), request);
  return request;
}

void AddPlan(Registry& registry) {
  auto options = std::make_shared<PlanCommandOptions>();
  CLI::App* command =
      registry.Add("plan", "Decide before anything is loaded: one pass, pieces or refused, with memory and time",
                   "  attend plan contract.txt\n  attend plan --tokens 7500 --memory 2GiB\n"
                   "  attend plan contract.txt --time 60 --explain\n"
                   "  attend plan -m llama-3.1-8b --tokens 128000 --device a100-40gb\n"
                   "  attend plan -m config.json --tokens 32768 --policy all\n"
                   "  attend plan -m gpt-oss-20b --sweep 1000..128000 --device rtx-4090 > sweep.csv\n"
                   "  attend plan contract.txt --verify\n  attend plan --scenario law-firm");
  command->add_option("document", options->document, "UTF-8 text file, or - for standard input");
  command->add_option("--tokens", options->tokens, "Plan for this many tokens instead of a document")
      ->check(CLI::Range(int64_t{1}, kMaxPlanTokens));
  command->add_option("--question-tokens", options->question_tokens, "Tokens of the chat template and the question")
      ->check(CLI::Range(int64_t{0}, kMaxPlanTokens))
      ->capture_default_str();
  command->add_flag("--explain", options->explain, "Show every number with its formula and inputs");
  command->add_flag("--calibrate", options->calibrate, "Measure this machine's speeds again");
  command->add_flag("--lossy", options->load.lossy, "Replace ill-formed UTF-8 instead of refusing the document");
  command->add_flag("--markdown", options->markdown, "Print Markdown, for reports");
  command->add_option("--sweep", options->sweep, "Plans of many lengths as CSV: 1000,8000,64000 or 1000..128000");
  command->add_option("--plot", options->plot, "Draw memory and time against length into an SVG file");
  command->add_option("--emit", options->emit, "Print the command line that starts llama.cpp or vllm as decided")
      ->check(CLI::IsMember({"llama.cpp", "vllm"}));
  command->add_flag("--verify", options->verify,
                    "Run the plan and compare: memory, prefill and answer, predicted against measured; kept, and the "
                    "next plans' range with it. With --tokens: of the document's first tokens");
  command->add_option("--scenario", options->scenario, "A case worked out in full: law-firm")
      ->check(CLI::IsMember({"law-firm"}));
  AddSettingOptions(command, options->setting);
  AddEngineOptions(command, options->engine);
  AddPlanOptions(command, options->plan);
  AddOutputOptions(command, options->output);
  registry.OnRun(command, [options] { return RunPlan(*options); });
}

}  // namespace attend::cli
