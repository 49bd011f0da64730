// How a command comes to a plan: the options that decide it, and the model's file read for its tensors. `plan` prints
// what `read` carries out: both call this.
#pragma once

#include <cstdint>
#include <string>

#include "attend/command.h"
#include "document/reading.h"
#include "model/load.h"
#include "plan/plan.h"
#include "tensor/calibration.h"

namespace attend::cli {

// Empty strings and zeros mean: not fixed by the user.
struct PlanOptions {
  std::string answer;                            // --answer quote or write; empty: by the model's size
  int64_t answer_tokens = kAnswerReserveTokens;  // -n
  int64_t context_tokens = 0;                    // -c; 0: the model's trained length
  std::string memory;                            // --memory 2GiB; empty: what is available now
  std::string reserve;                           // --reserve 10% or 512MiB; empty: 10%
  double time_limit_s = 0;                       // --time; 0: none
  int64_t max_pieces = 0;                        // --max-pieces; 0: as many as needed
  int64_t piece_tokens = 0;                      // --piece-tokens; 0: chosen
};
void AddPlanOptions(CLI::App* command, PlanOptions& options);

// What --memory allows, or what is available. Errors: usage_error for a size that cannot be read.
Result<uint64_t> MemoryLimit(const PlanOptions& options, const Engine& engine);

// How answers are given: as the user said, otherwise quoted below a billion parameters.
AnswerMode AnswerModeFor(const PlanOptions& options, const ModelShape& shape);

struct PlannedWork {
  int64_t document_tokens = 0;
  int64_t question_tokens = kQuestionReserveTokens;  // chat template and the longest question
  int64_t num_questions = 1;
};

// The tensors as the file's header lists them: no weight is read. Errors: those of the model's file.
Result<ModelFootprint> FootprintOf(const ModelFrontEnd& front, Policy policy = Policy::kOurs);

// What the options ask of `footprint`; `calibration` may be null: then there are no times. Errors: usage.
Result<PlanRequest> RequestFor(const ModelFootprint& footprint, const Engine& engine, const PlanOptions& options,
                               const PlannedWork& work, const Calibration* calibration);

}  // namespace attend::cli
