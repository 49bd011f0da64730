// Fork-join over a fixed list of work units. The units are set by the caller and never depend on the number of threads;
// which thread takes a unit does, so a unit must write only what is its own. Then results are the same bits for any
// count.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace attend {

class ThreadPool {
 public:
  // num_threads >= 1 counts the caller, which works too: 1 starts no thread.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }

  // Calls fn(unit, thread) for every unit in [0, num_units) and returns when all are done; thread is in
  // [0, num_threads()). Units are taken in rising order. Not reentrant; one caller at a time. fn must not throw.
  template <typename Fn>
  void ParallelFor(int64_t num_units, Fn&& fn) {
    auto call = [](void* context, int64_t unit, int thread) {
      (*static_cast<std::remove_reference_t<Fn>*>(context))(unit, thread);
    };
    Run(num_units, call, const_cast<void*>(static_cast<const void*>(&fn)));
  }

 private:
  using UnitFn = void (*)(void* context, int64_t unit, int thread);

  void Run(int64_t num_units, UnitFn fn, void* context);
  void WorkerLoop(int thread);
  void TakeUnits(int thread);

  const int num_threads_;
  std::vector<std::thread> workers_;

  // The current job; written by the caller before epoch_ rises, read by workers after they saw it rise.
  UnitFn fn_ = nullptr;
  void* context_ = nullptr;
  int64_t num_units_ = 0;
  std::atomic<int64_t> next_unit_{0};

  std::atomic<uint64_t> epoch_{0};  // rises once a job; workers wait for it
  std::atomic<int> busy_workers_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace attend
