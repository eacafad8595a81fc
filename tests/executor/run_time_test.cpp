#include "executor/run_time.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <climits>
#include <thread>

#include "support/forked_child.hpp"

namespace ob::executor {
namespace {

using std::chrono::milliseconds;
using test::ForkedChild;
using Clock = RunTime::Clock;

constexpr milliseconds kInterval{5};

struct Times {
  std::chrono::nanoseconds had;
  std::chrono::nanoseconds passed;
};

Times look_for(pid_t process, milliseconds time) {
  const auto start = Clock::now();
  RunTime run_time(process);
  Times times{};
  while (times.passed < time) {
    std::this_thread::sleep_for(kInterval);
    times.had = run_time.look();
    times.passed = Clock::now() - start;
  }
  return times;
}

TEST(RunTime, CountsSleep) {
  const ForkedChild child([] { pause(); });
  const Times times = look_for(child.pid(), milliseconds(200));
  EXPECT_GE(times.had, kInterval);  // on a busy machine there is one look
  EXPECT_LE(times.had, times.passed + milliseconds(50));
}

// The kernel adds the processor's time at its ticks, at most 10 ms late.
TEST(RunTime, CountsComputing) {
  const ForkedChild child(test::compute_for_ever);
  milliseconds had{};
  for (int tries = 0; tries < 100 && had < milliseconds(50); ++tries) {
    const Times times = look_for(child.pid(), milliseconds(100));
    EXPECT_LE(times.had, times.passed + milliseconds(50));
    had += std::chrono::duration_cast<milliseconds>(times.had);
  }
  EXPECT_GE(had, milliseconds(50));
}

// Two processes want one processor, and the kernel prefers the other one.
TEST(RunTime, WaitingForAProcessorDoesNotCount) {
  const ForkedChild child(test::compute_for_ever);
  const ForkedChild other(test::compute_for_ever);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  const sched_param none{};
  for (const ForkedChild* each : {&child, &other}) {
    if (sched_setaffinity(each->pid(), sizeof one, &one) != 0)
      GTEST_SKIP() << "this process may not choose processors";
  }
  if (sched_setscheduler(child.pid(), SCHED_IDLE, &none) != 0)
    GTEST_SKIP() << "this process may not lower priorities";
  const Times times = look_for(child.pid(), milliseconds(500));
  EXPECT_LT(times.had, times.passed / 2);
}

TEST(RunTime, CountsAllTimeOfAnUnknownProcess) {
  const Times times = look_for(INT_MAX, milliseconds(50));
  EXPECT_GE(times.had, kInterval);
  EXPECT_LE(times.had, times.passed);
}

}  // namespace
}  // namespace ob::executor
