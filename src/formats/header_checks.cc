#include "formats/header_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/format_error.h"

namespace attend {

Result<void> CheckRange(const HeaderSource& source, const std::string& key, double value, Range range,
                        std::optional<uint64_t> byte_offset) {
  if (value >= range.min && value <= range.max) return {};
  return FormatError(source.bad_value, source.where, Subject("key", key), fmt::format("{} to {}", range.min, range.max),
                     fmt::format("{}", value), byte_offset);
}

Result<void> DeriveHeadDim(const HeaderSource& source, ModelHeader& header) {
  if (header.head_dim != 0) return {};
  if (header.hidden_size % header.num_q_heads != 0) {
    return FormatError(source.bad_value, source.where, Subject("key", source.hidden_size),
                       "a multiple of " + source.num_q_heads + " where no head size is given",
                       fmt::format("{} and {}", header.hidden_size, header.num_q_heads));
  }
  header.head_dim = header.hidden_size / header.num_q_heads;
  return CheckRange(source, source.hidden_size + " / " + source.num_q_heads, header.head_dim, {1, kMaxHeadDim});
}

uint32_t TrainedTokens(uint32_t stated, uint32_t original, double factor) {
  const double scaled = std::min<double>(original * factor, kMaxSeqLen);
  return std::max(stated, static_cast<uint32_t>(scaled));
}

Result<void> CheckFields(const HeaderSource& source, const ModelHeader& header) {
  if (header.num_kv_heads > header.num_q_heads || header.num_q_heads % header.num_kv_heads != 0) {
    return FormatError(source.bad_value, source.where, Subject("key", source.num_kv_heads),
                       "a divisor of " + source.num_q_heads,
                       fmt::format("{} and {}", header.num_kv_heads, header.num_q_heads));
  }
  if (header.rotary_dim % 2 != 0 || header.rotary_dim > header.head_dim) {
    return FormatError(source.bad_value, source.where, Subject("key", source.rotary_dim),
                       fmt::format("an even number up to the head's size of {}", header.head_dim),
                       std::to_string(header.rotary_dim));
  }
  return {};
}

}  // namespace attend
