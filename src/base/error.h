// What went wrong, where, what was expected and what was found: one value for every failure that input, files,
// memory or peers can cause. Our own bugs are ATTEND_CHECK instead.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace attend {

enum class ErrorCode {
#define ATTEND_ERROR(constant, name, exit_status, meaning) constant,
#include "base/error_codes.inc"
#undef ATTEND_ERROR
};

struct ErrorCodeInfo {
  ErrorCode code;
  std::string_view name;  // stable, printed and documented: "gguf_truncated"
  int exit_status;        // of the command line
  std::string_view meaning;
};

std::span<const ErrorCodeInfo> AllErrorCodes();
const ErrorCodeInfo& InfoOf(ErrorCode code);

struct Error {
  ErrorCode code;
  std::string where;     // file path or component: "model.gguf", "attention"
  std::string subject;   // key, tensor or argument that is wrong; may be empty
  std::string expected;  // may be empty
  std::string found;     // may be empty
  std::string hint;      // what to do next, may be empty
  std::optional<uint64_t> byte_offset = std::nullopt;
};

// One line: "model.gguf: tensor 'x' at byte 24: expected ..., found ... [code]; hint". Control characters and invalid
// UTF-8 that came from a file are escaped (\x1b).
std::string Describe(const Error& error);

// Text from a file made safe for a terminal: control characters, DEL and invalid UTF-8 become \xNN.
std::string EscapeForTerminal(std::string_view text);

template <typename T>
using Result = tl::expected<T, Error>;

// What a component returns for an argument that it refuses.
tl::unexpected<Error> Refused(ErrorCode code, std::string where, std::string subject, std::string expected,
                              std::string found);

// Returns the error of a Result from the enclosing function.
#define ATTEND_RETURN_IF_ERROR(expression)                      \
  do {                                                          \
    if (auto attend_result_ = (expression); !attend_result_) {  \
      return tl::unexpected(std::move(attend_result_.error())); \
    }                                                           \
  } while (false)

// ATTEND_ASSIGN_OR_RETURN(auto x, MakeX()): x is the value, or the error is returned.
#define ATTEND_ASSIGN_OR_RETURN(declaration, expression) \
  ATTEND_ASSIGN_OR_RETURN_IMPL(ATTEND_CONCAT(attend_result_, __LINE__), declaration, expression)
#define ATTEND_ASSIGN_OR_RETURN_IMPL(temporary, declaration, expression) \
  auto temporary = (expression);                                         \
  if (!temporary) return tl::unexpected(std::move(temporary.error()));   \
  declaration = std::move(*temporary)
#define ATTEND_CONCAT(a, b) ATTEND_CONCAT_IMPL(a, b)
#define ATTEND_CONCAT_IMPL(a, b) a##b

}  // namespace attend
