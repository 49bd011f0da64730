// How the readers of this module make their errors, and what they accept as a name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace attend {

tl::unexpected<Error> FormatError(ErrorCode code, std::string where, std::string subject, std::string expected,
                                  std::string found, std::optional<uint64_t> byte_offset = std::nullopt,
                                  std::string hint = {});

// 'text', cut after 80 bytes: text of a file must not make messages as long as it likes.
std::string Quote(std::string_view text);

// "tensor 'x'".
std::string Subject(std::string_view kind, std::string_view name);

// What is wrong with `text` as the name of a key or tensor ("a control character"), or nothing when it is valid UTF-8,
// not empty and free of control characters.
std::optional<std::string> FaultOfName(std::string_view text);

}  // namespace attend
