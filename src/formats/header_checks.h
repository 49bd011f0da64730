// What both kinds of model header share: the ranges of their numbers and how the numbers fit together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "formats/model_header.h"

namespace attend {

// Far above every model in use; they keep products of sizes below 2^64 and buffers below silly sizes.
inline constexpr uint32_t kMaxLayers = 1024;
inline constexpr uint32_t kMaxHeads = 1024;
inline constexpr uint32_t kMaxHeadDim = 1024;
inline constexpr uint32_t kMaxHiddenSize = 1 << 17;
inline constexpr uint32_t kMaxIntermediateSize = 1 << 20;
inline constexpr uint32_t kMaxVocabSize = 1 << 22;
inline constexpr uint32_t kMaxSeqLen = 1 << 24;

struct Range {
  double min;
  double max;
};

inline constexpr Range kNormEpsRange = {1e-20, 0.1};
inline constexpr Range kRopeThetaRange = {1, 1e15};
inline constexpr Range kRopeFactorRange = {1, 1e6};

// Where a header came from, and what it calls the fields that CheckFields names.
struct HeaderSource {
  ErrorCode bad_value;
  std::string where;
  std::string hidden_size;
  std::string num_q_heads;
  std::string num_kv_heads;
  std::string rotary_dim;
};

// NaN is outside every range.
Result<void> CheckRange(const HeaderSource& source, const std::string& key, double value, Range range,
                        std::optional<uint64_t> byte_offset = std::nullopt);

// Sets head_dim to hidden_size / num_q_heads when it is 0.
Result<void> DeriveHeadDim(const HeaderSource& source, ModelHeader& header);

// The length after position scaling, which counts once: `stated` is that already, or the one before where the factor
// was added to a finished model. 0 for `original`: none is stated.
uint32_t TrainedTokens(uint32_t stated, uint32_t original, double factor);

// Precondition: each number is in its own range.
Result<void> CheckFields(const HeaderSource& source, const ModelHeader& header);

}  // namespace attend
