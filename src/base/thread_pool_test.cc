#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <numeric>

namespace attend {
namespace {

TEST(ThreadPoolTest, EveryUnitRunsOnceOnAThreadOfThePool) {
  for (int threads = 1; threads <= 8; ++threads) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.num_threads(), threads);
    for (int64_t units : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(units));
      std::atomic<int> outside{0};
      pool.ParallelFor(units, [&](int64_t unit, int thread) {
        runs[unit].fetch_add(1);
        if (thread < 0 || thread >= threads) outside.fetch_add(1);
      });
      for (const auto& count : runs) ASSERT_EQ(count.load(), 1);
      EXPECT_EQ(outside.load(), 0);
    }
  }
}

// A thread has one unit at a time: what it keeps under its number is its own.
TEST(ThreadPoolTest, NoTwoUnitsShareAThreadNumberAtOnce) {
  ThreadPool pool(6);
  std::vector<std::atomic<int>> inside(6);
  std::atomic<int> clashes{0};
  pool.ParallelFor(5000, [&](int64_t, int thread) {
    if (inside[thread].fetch_add(1) != 0) clashes.fetch_add(1);
    inside[thread].fetch_sub(1);
  });
  EXPECT_EQ(clashes.load(), 0);
}

// Jobs follow each other closely, as in a decode step; some come after the workers went to sleep.
TEST(ThreadPoolTest, ManyJobsOnMoreThreadsThanCores) {
  for (int threads : {2, 3, 5, 16}) {
    ThreadPool pool(threads);
    int64_t total = 0;
    const int jobs = 20000 / (threads * threads);
    for (int job = 0; job < jobs; ++job) {
      int64_t parts[4] = {};
      pool.ParallelFor(4, [&](int64_t unit, int) { parts[unit] = unit + job; });
      total += parts[0] + parts[1] + parts[2] + parts[3];
      if (job % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_EQ(total, int64_t{jobs} * 6 + int64_t{jobs} * (jobs - 1) * 2);
  }
}

// What the caller wrote before is seen by the units, what they wrote is seen after: rows of a triangle, summed in two
// steps.
TEST(ThreadPoolTest, SumsAreTheSameBitsForAnyNumberOfThreads) {
  std::vector<float> first;
  for (int threads = 1; threads <= 8; ++threads) {
    ThreadPool pool(threads);
    std::vector<std::vector<float>> rows(50);
    pool.ParallelFor(50, [&](int64_t i, int) {
      for (int64_t j = 0; j <= i; ++j) rows[i].push_back(1.0f / static_cast<float>(i * 50 + j + 1));
    });
    std::vector<float> sums(50);
    pool.ParallelFor(50, [&](int64_t i, int) { sums[i] = std::accumulate(rows[i].begin(), rows[i].end(), 0.0f); });
    if (threads == 1) first = sums;
    EXPECT_EQ(sums, first) << threads;
  }
}

TEST(ThreadPoolTest, StartsAndStopsWithoutWork) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(4);
  ThreadPool pool(3);
  pool.ParallelFor(0, [](int64_t, int) { FAIL(); });
}

}  // namespace
}  // namespace attend
