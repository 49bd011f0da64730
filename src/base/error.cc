#include "base/error.h"

#include <fmt/format.h>

#include <array>

#include "base/utf8.h"

namespace attend {
namespace {

constexpr ErrorCodeInfo kInfos[] = {
#define ATTEND_ERROR(constant, name, exit_status, meaning) {ErrorCode::constant, name, exit_status, meaning},
#include "base/error_codes.inc"
#undef ATTEND_ERROR
};

}  // namespace

std::span<const ErrorCodeInfo> AllErrorCodes() {
  return kInfos;
}

const ErrorCodeInfo& InfoOf(ErrorCode code) {
  return kInfos[static_cast<size_t>(code)];
}

std::string Describe(const Error& error) {
  std::string line = EscapeForTerminal(error.where);
  if (!error.subject.empty()) line += fmt::format(": {}", EscapeForTerminal(error.subject));
  if (error.byte_offset) line += fmt::format(" at byte {}", *error.byte_offset);
  if (!error.expected.empty()) line += fmt::format(": expected {}", EscapeForTerminal(error.expected));
  if (!error.found.empty()) {
    line += fmt::format("{}found {}", error.expected.empty() ? ": " : ", ", EscapeForTerminal(error.found));
  }
  line += fmt::format(" [{}]", InfoOf(error.code).name);
  if (!error.hint.empty()) line += fmt::format("; {}", EscapeForTerminal(error.hint));
  return line;
}

std::string EscapeForTerminal(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = DecodeUtf8(text, i);
    // C1 controls (0x80-0x9f) and bidi overrides act on terminals as ESC sequences do.
    const bool is_control = step.code_point < 0x20 || (step.code_point >= 0x7f && step.code_point < 0xa0) ||
                            (step.code_point >= 0x202a && step.code_point <= 0x202e) ||
                            (step.code_point >= 0x2066 && step.code_point <= 0x2069);
    if (step.valid && !is_control) {
      safe.append(text.substr(i, step.length));
    } else {
      for (size_t j = i; j < i + step.length; ++j) safe += fmt::format("\\x{:02x}", static_cast<uint8_t>(text[j]));
    }
    i += step.length;
  }
  return safe;
}

tl::unexpected<Error> Refused(ErrorCode code, std::string where, std::string subject, std::string expected,
                              std::string found) {
  return tl::unexpected(Error{.code = code,
                              .where = std::move(where),
                              .subject = std::move(subject),
                              .expected = std::move(expected),
                              .found = std::move(found),
                              .hint = {}});
}

}  // namespace attend
