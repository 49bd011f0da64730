// Strict JSON for small files: a key that stands twice, nesting deeper than `max_depth`, invalid UTF-8 and far more
// values than a text of that size usually holds are errors, as is anything that RFC 8259 does not allow.
//
// Errors: json_bad, with the byte.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace attend {

// `name` stands in messages.
Result<nlohmann::json> ParseJson(std::string_view text, const std::string& name, int max_depth = 64);

}  // namespace attend
