#include "formats/gguf_fields.h"

#include <utility>

namespace attend {

Result<uint32_t> GgufFields::Number(const std::string& key, uint32_t max, std::optional<uint32_t> fallback) const {
  if (fallback && !file_.Has(key)) return *fallback;
  ATTEND_ASSIGN_OR_RETURN(const uint64_t value, file_.Unsigned(key));
  const Range range = {1, static_cast<double>(max)};
  ATTEND_RETURN_IF_ERROR(CheckRange(source_, key, static_cast<double>(value), range, OffsetOf(key)));
  return static_cast<uint32_t>(value);
}

Result<uint32_t> GgufFields::Count(const std::string& key, uint32_t max) const {
  ATTEND_ASSIGN_OR_RETURN(const uint64_t value, file_.UnsignedOr(key, 0));
  return value == 0 ? 0 : Number(key, max);
}

Result<double> GgufFields::Real(const std::string& key, Range range, std::optional<double> fallback) const {
  if (fallback && !file_.Has(key)) return *fallback;
  ATTEND_ASSIGN_OR_RETURN(const double value, file_.Float(key));
  ATTEND_RETURN_IF_ERROR(CheckRange(source_, key, value, range, OffsetOf(key)));
  return value;
}

Result<std::vector<uint32_t>> GgufFields::PerLayer(const std::string& key, uint32_t num_layers, uint32_t max) const {
  const Range range = {0, static_cast<double>(max)};
  if (!IsArray(key)) {
    ATTEND_ASSIGN_OR_RETURN(const uint64_t value, file_.Unsigned(key));
    ATTEND_RETURN_IF_ERROR(CheckRange(source_, key, static_cast<double>(value), range, OffsetOf(key)));
    return std::vector<uint32_t>(num_layers, static_cast<uint32_t>(value));
  }
  ATTEND_ASSIGN_OR_RETURN(const std::vector<int64_t> values, file_.Integers(key));
  ATTEND_RETURN_IF_ERROR(CheckLength(key, values.size(), num_layers));
  std::vector<uint32_t> numbers;
  for (const int64_t value : values) {
    ATTEND_RETURN_IF_ERROR(CheckRange(source_, key, static_cast<double>(value), range, OffsetOf(key)));
    numbers.push_back(static_cast<uint32_t>(value));
  }
  return numbers;
}

Result<std::vector<bool>> GgufFields::Flags(const std::string& key, uint32_t num_layers) const {
  const GgufEntry* entry = file_.FindEntry(key);
  std::vector<bool> flags;
  if (entry != nullptr && entry->element_type != GgufType::kBool) {
    ATTEND_ASSIGN_OR_RETURN(const std::vector<int64_t> values, file_.Integers(key));
    for (const int64_t value : values) flags.push_back(value != 0);
  } else {
    ATTEND_ASSIGN_OR_RETURN(flags, file_.Bools(key));
  }
  ATTEND_RETURN_IF_ERROR(CheckLength(key, flags.size(), num_layers));
  return flags;
}

bool GgufFields::IsArray(std::string_view key) const {
  const GgufEntry* entry = file_.FindEntry(key);
  return entry != nullptr && entry->type == GgufType::kArray;
}

uint64_t GgufFields::OffsetOf(std::string_view key) const {
  return file_.FindEntry(key)->offset;
}

tl::unexpected<Error> GgufFields::Fail(ErrorCode code, std::string_view key, std::string expected,
                                       std::string found) const {
  return FormatError(code, file_.name(), Subject("key", key), std::move(expected), std::move(found), OffsetOf(key));
}
tl::unexpected<Error> GgufFields::BadValue(std::string_view key, std::string expected, std::string found) const {
  return Fail(source_.bad_value, key, std::move(expected), std::move(found));
}
tl::unexpected<Error> GgufFields::Unsupported(std::string_view key, std::string expected, std::string found) const {
  return Fail(ErrorCode::kUnsupportedFeature, key, std::move(expected), std::move(found));
}

Result<void> GgufFields::CheckLength(const std::string& key, size_t length, uint32_t num_layers) const {
  if (length == num_layers) return {};
  return BadValue(key, std::to_string(num_layers) + " values, one a layer", std::to_string(length));
}

}  // namespace attend
