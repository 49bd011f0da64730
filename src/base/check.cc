#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace attend {

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "attend: internal error: %s does not hold (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace attend
