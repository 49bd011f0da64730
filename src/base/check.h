// ATTEND_CHECK: an invariant of our own code. It stops the program with the place; input can never reach it.
#pragma once

namespace attend {
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);
}

#define ATTEND_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::attend::CheckFailed(#condition, __FILE__, __LINE__))
