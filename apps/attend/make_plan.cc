#include "attend/make_plan.h"

#include <sys/stat.h>

#include <cstdlib>

#include "formats/gguf.h"
#include "formats/safetensors.h"

namespace attend::cli {
namespace {

bool IsFolder(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<Reserve> ParseReserve(const std::string& text) {
  if (text.empty()) return Reserve{};
  if (text.back() != '%') {
    ATTEND_ASSIGN_OR_RETURN(const uint64_t bytes, ParseBytes(text, "--reserve"));
    return Reserve{.bytes = bytes};
  }
  char* end = nullptr;
  const double percent = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() - 1 || end == text.c_str() || !(percent >= 0 && percent <= 100)) {
    return tl::unexpected(UsageError("--reserve", "bytes such as 512MiB, or 0% to 100%", text));
  }
  return Reserve{.percent = percent};
}

// Below a billion parameters a model asked freely about a long text repeats itself or invents (docs/guide/quote.md).
constexpr double kWriteFromParameters = 1e9;

}  // namespace

Result<ModelFootprint> FootprintOf(const ModelFrontEnd& front, Policy policy) {
  if (IsFolder(front.path)) {
    ATTEND_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(front.path + "/model.safetensors"));
    ATTEND_RETURN_IF_ERROR(CheckTensors(front.header, file));
    return MakeFootprint(front.header, file.tensors(), policy);
  }
  ATTEND_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(front.path));
  return MakeFootprint(front.header, file.tensors(), policy);
}

void AddPlanOptions(CLI::App* command, PlanOptions& o) {
  const CLI::Range count(int64_t{0}, kMaxPlanTokens);
  command
      ->add_option("--answer", o.answer,
                   "quote: sentences of the document, verbatim; write: the model's own words (default: quote below 1B "
                   "parameters)")
      ->check(CLI::IsMember({"quote", "write"}));
  command->add_option("-n,--answer-tokens", o.answer_tokens, "Most tokens of an answer")
      ->check(count)
      ->capture_default_str();
  command->add_option("-c,--context", o.context_tokens, "Context in tokens; 0 = what the model was trained on")
      ->check(count);
  command->add_option("--memory", o.memory, "Memory that may be used, such as 2GiB (default: what is available)");
  command->add_option("--reserve", o.reserve, "Part of it to leave free, bytes or percent (default: 10%)");
  command->add_option("--time", o.time_limit_s, "Most seconds it may take; 0 = no limit")->check(FiniteRange(0, 1e12));
  command
      ->add_option("--max-pieces", o.max_pieces,
                   "Most pieces to cut the document into; 1 = one pass or nothing, 0 = any")
      ->check(count);
  command->add_option("--piece-tokens", o.piece_tokens, "Fixed size of a piece in tokens; 0 = chosen")->check(count);
}

Result<uint64_t> MemoryLimit(const PlanOptions& options, const Engine& engine) {
  if (options.memory.empty()) return engine.machine.available_memory_bytes;
  return ParseBytes(options.memory, "--memory");
}

AnswerMode AnswerModeFor(const PlanOptions& options, const ModelShape& shape) {
  if (!options.answer.empty()) return options.answer == "quote" ? AnswerMode::kQuote : AnswerMode::kWrite;
  const double parameters = shape.ActiveParameters() + shape.OutputParameters();
  return parameters < kWriteFromParameters ? AnswerMode::kQuote : AnswerMode::kWrite;
}

Result<PlanRequest> RequestFor(const ModelFootprint& footprint, const Engine& engine, const PlanOptions& options,
                               const PlannedWork& work, const Calibration* calibration) {
  PlanRequest request;
  request.footprint = footprint;
  ATTEND_ASSIGN_OR_RETURN(request.reserve, ParseReserve(options.reserve));
  ATTEND_ASSIGN_OR_RETURN(request.memory_limit_bytes, MemoryLimit(options, engine));
  request.document_tokens = work.document_tokens;
  request.question_tokens = work.question_tokens;
  if (AnswerModeFor(options, footprint.shape) == AnswerMode::kQuote)
    request.runtime.quoted_questions = work.num_questions;
  request.answer_tokens = options.answer_tokens;
  request.context_tokens = options.context_tokens;
  request.compute = engine.compute;
  request.kv_format = engine.kv_format;
  request.runtime.bf16_copy = engine.kernels->has_bf16_dot && RoundsToBf16(engine.compute);
  request.runtime.threads = engine.pool->num_threads();
  if (options.time_limit_s > 0) request.time_limit_s = options.time_limit_s;
  if (options.piece_tokens > 0) request.piece_tokens = options.piece_tokens;
  request.max_pieces = options.max_pieces;
  if (calibration != nullptr) request.calibration = *calibration;
  return request;
}

}  // namespace attend::cli
