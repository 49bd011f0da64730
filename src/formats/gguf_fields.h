// The keys of a GGUF header by their names, each of the right kind and in its range.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/format_error.h"
#include "formats/gguf.h"
#include "formats/header_checks.h"

namespace attend {

// `fallback` stands for an absent key and is not checked.
class GgufFields {
 public:
  GgufFields(const GgufFile& file, const HeaderSource& source) : file_(file), source_(source) {}

  // 1 to `max`.
  Result<uint32_t> Number(const std::string& key, uint32_t max, std::optional<uint32_t> fallback = std::nullopt) const;
  // 0 to `max`; an absent key is 0.
  Result<uint32_t> Count(const std::string& key, uint32_t max) const;
  Result<double> Real(const std::string& key, Range range, std::optional<double> fallback = std::nullopt) const;

  // One value a layer, 0 to `max`: an array of just as many, or one number for all.
  Result<std::vector<uint32_t>> PerLayer(const std::string& key, uint32_t num_layers, uint32_t max) const;
  // An array of just as many booleans or integers, of which 0 is false.
  Result<std::vector<bool>> Flags(const std::string& key, uint32_t num_layers) const;

  bool IsArray(std::string_view key) const;
  uint64_t OffsetOf(std::string_view key) const;  // of the value, for messages. Precondition: the key is there

  tl::unexpected<Error> BadValue(std::string_view key, std::string expected, std::string found) const;
  tl::unexpected<Error> Unsupported(std::string_view key, std::string expected, std::string found) const;

 private:
  tl::unexpected<Error> Fail(ErrorCode code, std::string_view key, std::string expected, std::string found) const;
  Result<void> CheckLength(const std::string& key, size_t length, uint32_t num_layers) const;

  const GgufFile& file_;
  const HeaderSource& source_;
};

}  // namespace attend
