// The decision about a document, taken before anything is loaded: one pass, pieces, or refused, with the memory, the
// work, the time and the reason. docs/reference/plan.md has the formulas.
//
// What the caller fixed (piece_tokens, max_pieces, kv_format, limits) is never changed: where it does not fit, the
// verdict is refused and `changes` lists what would fit, each with its price. A length beyond the model's trained
// length, question and answer included, never fits.
//
// Errors of MakePlan: bad_argument for a token count outside [1, 10^15], or a context larger than the trained length.
//
//   ATTEND_ASSIGN_OR_RETURN(const Plan plan, MakePlan({.footprint = MakeFootprint(header, file.tensors()),
//                                                      .document_tokens = 7500, .memory_limit_bytes = 2u << 30}));
//   if (plan.verdict == Verdict::kRefused) ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plan/runtime_memory.h"
#include "tensor/calibration.h"
#include "tensor/compute.h"
#include "tensor/kv_format.h"

namespace attend {

inline constexpr int64_t kMaxPlanTokens = 1'000'000'000'000'000;
inline constexpr int64_t kMinPieceTokens =
    256;  // a piece that we choose is not smaller: below it, little beside borders is left
inline constexpr int64_t kQuestionReserveTokens = 128;  // chat template and question, where they are not known yet
inline constexpr int64_t kAnswerReserveTokens = 128;

enum class Verdict { kOnePass, kPieces, kRefused };
std::string_view NameOf(Verdict verdict);  // "one_pass", "pieces", "refused"

// What stands in the way of one pass (or, refused, of anything).
enum class Limit { kNone, kContext, kMemory, kTime, kPieceTokens, kMaxPieces };
std::string_view NameOf(Limit limit);  // "none", "context", "memory", "time", "piece_tokens", "max_pieces"

// Memory that is left free: a share of the limit, or bytes.
struct Reserve {
  double percent = 10;
  std::optional<uint64_t> bytes = std::nullopt;
};

struct PlanRequest {
  ModelFootprint footprint = {};
  int64_t document_tokens = 0;
  int64_t question_tokens = kQuestionReserveTokens;  // template and question; 0 is allowed
  int64_t answer_tokens = kAnswerReserveTokens;
  int64_t context_tokens = 0;  // 0: the trained length
  Compute compute = Compute::kBf16;
  KvFormat kv_format = {};
  RuntimeSettings runtime = {};
  bool holds_text = true;           // ours: as read does; false: the passes alone
  int64_t rounds = 1;               // answers after one another over one prefill, each with its own question
  int64_t num_devices = 1;          // tensor parallel: memory and speeds are those of one
  double link_bytes_per_s = 0;      // between two devices, each way; 0: its time is not counted
  uint64_t memory_limit_bytes = 0;  // of one device
  Reserve reserve = {};
  std::optional<double> time_limit_s = std::nullopt;
  std::optional<int64_t> piece_tokens = std::nullopt;  // fixed by the user
  int64_t max_pieces = 0;                              // 0: as many as are needed
  double review_minutes = 0;                           // of a person, for what pieces lose
  std::optional<Calibration> calibration = std::nullopt;
};

struct PlanMemory {
  uint64_t weights_bytes = 0;
  uint64_t kv_bytes = 0;  // of one pass or one piece: pieces are read one after another
  uint64_t workspace_bytes = 0;
  uint64_t process_bytes = 0;
  uint64_t total_bytes = 0;
  uint64_t limit_bytes = 0;
  uint64_t reserve_bytes = 0;
  uint64_t usable_bytes = 0;  // limit - reserve
};

struct Estimate {
  double low = 0, expected = 0, high = 0;
};

struct PlanTimes {
  Estimate prefill_s = {};   // all pieces of all documents at once
  Estimate decode_s = {};    // answer_tokens after each piece, every round; 0 when quoting
  Estimate evidence_s = {};  // quoting: the passages scored for each question; otherwise 0
  Estimate total_s = {};
  Estimate anew_s = {};  // the same if every round read the document again
  double traffic_s = 0;  // of total_s: between the devices
  Estimate prefill_tokens_per_s = {};
  Estimate decode_tokens_per_s = {};  // at decode_depth_tokens
};

// Something that would make it fit, or fit in fewer pieces. Every one was tried with the same decision.
struct Change {
  std::string what;   // "--memory 3.2GiB"
  std::string price;  // what it costs of the result, in words
  Verdict gives = Verdict::kOnePass;
  int64_t num_pieces = 1;
  int64_t piece_tokens = 0;
  bool inside_reserve = false;
  uint64_t total_bytes = 0;
  std::optional<double> total_s = std::nullopt;   // absent: not calibrated
  std::optional<double> nll_rise = std::nullopt;  // measured, nats a token (plan/measured_loss.h); absent: not measured
  double review_minutes = 0;                      // of a person, where there are borders
};

// A number of the plan and where it comes from.
struct Formula {
  std::string name;
  std::string formula;
  std::string inputs;
  double result = 0;
  std::string unit;
};

struct Plan {
  Verdict verdict = Verdict::kRefused;
  Limit limit = Limit::kNone;
  std::string reason;
  Policy policy = Policy::kOurs;
  std::vector<std::string> doubts;  // of the model's shape: what was assumed

  int64_t document_tokens = 0, question_tokens = 0, answer_tokens = 0;
  int64_t rounds = 1, concurrent = 1, num_devices = 1;
  double review_minutes = 0;  // of a person, for what the pieces lose; 0 for one_pass
  int64_t num_pieces = 0;     // 1 for one_pass; refused: what was tried, 0 when there is nothing to try
  int64_t piece_tokens = 0;   // document tokens of a piece; document_tokens for one_pass
  int64_t overlap_tokens = 0;
  int64_t pass_tokens = 0;     // piece + question + answer: what the cache must hold
  int64_t context_tokens = 0;  // the limit that holds
  int64_t trained_tokens = 0;  // max_seq_len
  int64_t fits_tokens =
      0;  // largest document in one pass here, by context and memory: how far a piece may grow; 0: none

  int64_t in_time_tokens = 0;  // largest document in one pass within the time limit, memory apart; 0: none, or no limit

  PlanMemory memory;
  uint64_t unchunked_bytes = 0;  // total with the activations of a pass that is not cut into chunks, an estimate
  uint64_t shortfall_bytes = 0;  // refused for memory: what is lacking
  uint64_t kv_bytes_per_token = 0;
  uint64_t kv_bytes_per_late_token = 0;  // once every window is full
  uint64_t kq_buffer_bytes = 0;          // without flash attention, of a micro-batch: llama.cpp's
  uint64_t attention_map_bytes = 0;      // if every map of a pass were kept, in 16 bits

  double linear_flops = 0;  // prefill, all pieces
  double attention_flops = 0;
  double unmasked_attention_flops = 0;  // the same with the half that no token sees; published figures often count it
  uint64_t decode_weight_bytes = 0;     // per token
  uint64_t decode_kv_bytes = 0;         // per token, at decode_depth_tokens
  int64_t decode_depth_tokens = 0;      // half way through the answer

  std::optional<PlanTimes> times;  // absent: not calibrated
  std::vector<Change> changes;     // those that respect the reserve first, then the cheapest
  std::vector<Formula> formulas;
};

Result<Plan> MakePlan(const PlanRequest& request);

}  // namespace attend
