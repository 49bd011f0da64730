// Checked access to the fields of a JSON object: a config.json, a device profile.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "formats/format_error.h"
#include "formats/header_checks.h"

namespace attend {

// Fields of one JSON object, each of the right kind and in its range. A field that is null counts as absent;
// `fallback` stands for an absent one and is not checked. Messages put `outer` before the key: "memory.".
class ConfigFields {
 public:
  ConfigFields(const nlohmann::json& object, const HeaderSource& source, std::string outer = {})
      : object_(object), source_(source), outer_(std::move(outer)) {}

  const nlohmann::json* Find(const std::string& key) const {
    const auto place = object_.find(key);
    return place == object_.end() || place->is_null() ? nullptr : &*place;
  }

  Result<uint32_t> Number(const std::string& key, uint32_t max, std::optional<uint32_t> fallback = std::nullopt) const {
    const nlohmann::json* value = Find(key);
    if (value == nullptr && fallback) return *fallback;
    if (value == nullptr || !value->is_number_integer()) return Wrong(key, "an integer", value);
    ATTEND_RETURN_IF_ERROR(CheckRange(source_, outer_ + key, value->get<double>(), {1, static_cast<double>(max)}));
    return value->get<uint32_t>();
  }

  Result<double> Real(const std::string& key, Range range, std::optional<double> fallback = std::nullopt) const {
    const nlohmann::json* value = Find(key);
    if (value == nullptr && fallback) return *fallback;
    if (value == nullptr || !value->is_number()) return Wrong(key, "a number", value);
    ATTEND_RETURN_IF_ERROR(CheckRange(source_, outer_ + key, value->get<double>(), range));
    return value->get<double>();
  }

  Result<bool> Flag(const std::string& key, bool fallback) const {
    const nlohmann::json* value = Find(key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) return Wrong(key, "true or false", value);
    return value->get<bool>();
  }

  Result<std::string> Text(const std::string& key, std::optional<std::string> fallback = std::nullopt) const {
    const nlohmann::json* value = Find(key);
    if (value == nullptr && fallback) return std::move(*fallback);
    if (value == nullptr || !value->is_string()) return Wrong(key, "text", value);
    return value->get<std::string>();
  }

  tl::unexpected<Error> Wrong(const std::string& key, std::string expected, const nlohmann::json* found) const {
    return FormatError(source_.bad_value, source_.where, Subject("key", outer_ + key), std::move(expected),
                       found == nullptr ? "no such key" : std::string("a value of type ") + found->type_name());
  }

  tl::unexpected<Error> Unsupported(const std::string& key, std::string expected, std::string found) const {
    return FormatError(ErrorCode::kUnsupportedFeature, source_.where, Subject("key", outer_ + key), std::move(expected),
                       std::move(found));
  }

  const std::string& where() const { return source_.where; }

 private:
  const nlohmann::json& object_;
  const HeaderSource& source_;
  const std::string outer_;
};

}  // namespace attend
