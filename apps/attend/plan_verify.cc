// attend plan --verify: the plan, then what it plans, and how far they are apart.
#include <fmt/format.h>

#include "attend/calibrated.h"
#include "attend/plan_command.h"
#include "attend/terminal.h"
#include "measure/timer.h"
#include "model/generate.h"
#include "plan/number_text.h"

namespace attend::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Measured {
  uint64_t memory_bytes = 0;
  double prefill_s = 0, decode_s = 0;
};

// The tokens of a piece and, in the question's place, as many from the document's beginning.
std::vector<uint32_t> PromptOf(const Planning& planning, int64_t first, int64_t tokens, int64_t question_tokens) {
  std::vector<uint32_t> prompt(planning.ids.begin() + first, planning.ids.begin() + first + tokens);
  for (int64_t i = 0; i < question_tokens; ++i) {
    prompt.push_back(planning.ids[static_cast<size_t>(i) % planning.ids.size()]);
  }
  return prompt;
}

// Every piece of the plan: its prompt is read, and an answer of full length generated.
Result<Measured> RunPieces(const PlanCommandOptions& options, Planning& planning, const Plan& plan) {
  ATTEND_ASSIGN_OR_RETURN(const LoadedModel model,
                          LoadModelFor(options.engine, planning.model.front->path, planning.engine));
  const Engine& engine = planning.engine;
  ATTEND_ASSIGN_OR_RETURN(Transformer transformer, Transformer::Make(model.front.header, model.weights, *engine.kernels,
                                                                     *engine.pool, engine.compute));
  Measured measured;
  Progress progress("reading", "tokens", plan.document_tokens, !options.output.quiet && !options.output.no_progress);
  for (int64_t first = 0; first < plan.document_tokens; first += plan.piece_tokens) {
    const int64_t tokens = std::min(plan.piece_tokens, plan.document_tokens - first);
    const std::vector<uint32_t> prompt = PromptOf(planning, first, tokens, plan.question_tokens);
    ATTEND_ASSIGN_OR_RETURN(KvCache cache, KvCache::Make(CacheDescriptors(model.front.header, engine.kv_format)));
    const Timer prefill;
    ATTEND_ASSIGN_OR_RETURN(const std::vector<float> logits, Prefill(transformer, cache, prompt, [&](int64_t done) {
                              progress.Update(first + std::min(done, tokens));
                              return !Interrupted();
                            }));
    measured.prefill_s += prefill.Seconds();
    const Timer decode;
    ATTEND_RETURN_IF_ERROR(Generate(transformer, cache, logits,
                                    {.max_tokens = plan.answer_tokens, .stop_ids = {}, .repetition_tokens = 0}));
    measured.decode_s += decode.Seconds();
  }
  const uint64_t peak = PeakResidentBytes();
  measured.memory_bytes = peak - std::min(peak, planning.idle_bytes);
  return measured;
}

VerifiedRun RatiosOf(const Plan& plan, const Measured& m) {
  const PlanTimes& t = *plan.times;
  return {.tokens = plan.pass_tokens,
          .memory_ratio = static_cast<double>(m.memory_bytes) / static_cast<double>(plan.memory.total_bytes),
          .prefill_ratio = m.prefill_s / t.prefill_s.expected,
          .decode_ratio = t.decode_s.expected > 0 ? m.decode_s / t.decode_s.expected : 1,
          .total_ratio = (m.prefill_s + m.decode_s) / t.total_s.expected};
}

void PrintTable(const Plan& plan, const Measured& m, const VerifiedRun& run, size_t num_runs, const Spread& spread) {
  const auto row = [](const char* name, const std::string& predicted, const std::string& measured, double ratio) {
    fmt::print("{:<10} {:>12} {:>12} {:>+8.1f} %\n", name, predicted, measured, 100 * (ratio - 1));
  };
  fmt::print("{}. {} tokens a pass\n\n{:<10} {:>12} {:>12} {:>10}\n", VerdictText(plan), Grouped(plan.pass_tokens), "",
             "predicted", "measured", "off");
  row("memory", BytesText(plan.memory.total_bytes), BytesText(m.memory_bytes), run.memory_ratio);
  row("prefill", SecondsText(plan.times->prefill_s.expected), SecondsText(m.prefill_s), run.prefill_ratio);
  row("answer", SecondsText(plan.times->decode_s.expected), SecondsText(m.decode_s), run.decode_ratio);
  fmt::print("\n{} runs kept; the next plan's range is {:.2f} to {:.2f} of the expected time\n", num_runs, spread.low,
             spread.high);
}

Json VerifyJson(const Plan& plan, const Measured& m, const VerifiedRun& run, size_t num_runs, const Spread& spread) {
  const auto pair = [](double predicted, double measured, double ratio) {
    return Json{{"predicted", predicted}, {"measured", measured}, {"ratio", ratio}};
  };
  return {{"schema", "attend.plan.verify"},
          {"version", 1},
          {"verdict", NameOf(plan.verdict)},
          {"num_pieces", plan.num_pieces},
          {"pass_tokens", plan.pass_tokens},
          {"answer_tokens", plan.answer_tokens},
          {"memory_bytes",
           pair(static_cast<double>(plan.memory.total_bytes), static_cast<double>(m.memory_bytes), run.memory_ratio)},
          {"prefill_s", pair(plan.times->prefill_s.expected, m.prefill_s, run.prefill_ratio)},
          {"decode_s", pair(plan.times->decode_s.expected, m.decode_s, run.decode_ratio)},
          {"num_runs", num_runs},
          {"next_spread", {{"low", spread.low}, {"high", spread.high}}}};
}

}  // namespace

Outcome RunPlanVerify(const PlanCommandOptions& options, Planning& planning) {
  if (planning.policy != Policy::kOurs || planning.device || planning.ids.empty()) {
    return tl::unexpected(UsageError("--verify", "a document and a model that runs here, on this machine",
                                     planning.ids.empty() ? "no document"
                                     : planning.device    ? "--device"
                                                          : "a model that does not"));
  }
  if (!planning.calibration) return tl::unexpected(UsageError("--verify", "a measured machine", "no calibration"));
  ATTEND_ASSIGN_OR_RETURN(const PlanRequest request, RequestOf(options, planning, Policy::kOurs));
  ATTEND_ASSIGN_OR_RETURN(const Plan plan, MakePlan(request));
  if (plan.verdict == Verdict::kRefused) {
    fmt::print("{}", PlanSummary(plan));
    return 1;
  }
  ResetPeakResidentBytes();
  ATTEND_ASSIGN_OR_RETURN(const Measured measured, RunPieces(options, planning, plan));
  const VerifiedRun run = RatiosOf(plan, measured);
  const CalibrationKey key = KeyOf(planning.engine, planning.model.front->header);
  if (const auto kept = AddVerifiedRun(CalibrationPath(), key, run); !kept) {
    fmt::print(stderr, "attend: the comparison is not kept: {}\n", Describe(kept.error()));
  }
  const size_t num_runs = FindVerifiedRuns(CalibrationPath(), key).size();
  const auto next = FindCalibration(CalibrationPath(), key);
  const Spread spread = next ? next->spread : Spread{};
  if (options.output.json) {
    fmt::print("{}\n", VerifyJson(plan, measured, run, num_runs, spread).dump(2));
  } else {
    PrintTable(plan, measured, run, num_runs, spread);
  }
  return 0;
}

}  // namespace attend::cli
