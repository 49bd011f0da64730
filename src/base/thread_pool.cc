#include "base/thread_pool.h"

#include "base/check.h"

namespace attend {
namespace {

// A decode step has about 200 jobs of some 20 us: waking a sleeping thread costs as much as a job, so both sides spin
// for about 50 us before they sleep or yield. Spinning is bounded, so an oversubscribed machine makes progress.
constexpr int kSpins = 4000;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(int num_threads) : num_threads_(num_threads) {
  ATTEND_CHECK(num_threads >= 1);
  for (int thread = 1; thread < num_threads; ++thread) workers_.emplace_back([this, thread] { WorkerLoop(thread); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stop_.store(true);
    epoch_.fetch_add(1);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Run(int64_t num_units, UnitFn fn, void* context) {
  if (workers_.empty() || num_units <= 1) {
    for (int64_t unit = 0; unit < num_units; ++unit) fn(context, unit, 0);
    return;
  }
  fn_ = fn;
  context_ = context;
  num_units_ = num_units;
  next_unit_.store(0);
  busy_workers_.store(static_cast<int>(workers_.size()));
  {
    std::lock_guard lock(mutex_);  // a worker between its last look and its sleep must not miss this
    epoch_.fetch_add(1);
  }
  wake_.notify_all();
  TakeUnits(0);
  for (int spin = 0; busy_workers_.load() != 0; ++spin) {
    if (spin < kSpins) {
      Pause();
    } else {
      std::this_thread::yield();
    }
  }
}

void ThreadPool::TakeUnits(int thread) {
  for (int64_t unit = next_unit_.fetch_add(1); unit < num_units_; unit = next_unit_.fetch_add(1)) {
    fn_(context_, unit, thread);
  }
}

void ThreadPool::WorkerLoop(int thread) {
  uint64_t seen = 0;
  for (;;) {
    for (int spin = 0; epoch_.load() == seen && spin < kSpins; ++spin) Pause();
    if (epoch_.load() == seen) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return epoch_.load() != seen; });
    }
    ++seen;
    if (stop_.load()) return;
    TakeUnits(thread);
    busy_workers_.fetch_sub(1);
  }
}

}  // namespace attend
