// Wall time of a piece of work.
#pragma once

#include <chrono>
#include <utility>

namespace attend {

class Timer {
 public:
  double Seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

template <typename Fn>
double SecondsOf(Fn&& fn) {
  const Timer timer;
  std::forward<Fn>(fn)();
  return timer.Seconds();
}

}  // namespace attend
