#include "device/host_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "support/random.hpp"

namespace ob {
namespace {

constexpr TaskManner kCheap{.cheap = true};
constexpr TaskManner kDear{};

auto append(std::vector<int>& log, int value) {
  return [&log, value](QueueReport&) {
    log.push_back(value);
    return Status();
  };
}

auto fail_with(Code code) {
  return [code](QueueReport&) { return Status(code, "on purpose"); };
}

TEST(HostQueueTest, ACommandThatThrowsFails) {
  for (const TaskManner& manner : {kCheap, kDear}) {
    HostQueue queue("test");
    std::vector<int> log;
    queue.submit(manner, [](QueueReport&) -> Status { throw std::bad_alloc(); });
    queue.submit(manner, append(log, 1));
    const QueueReport report = queue.synchronize();
    EXPECT_EQ(report.status.code(), Code::out_of_memory);
    EXPECT_EQ(report.failed_command, 1u);
    EXPECT_TRUE(log.empty());
    queue.submit(manner, append(log, 2));
    EXPECT_TRUE(queue.synchronize().status.ok());
    EXPECT_EQ(log, std::vector<int>{2});
  }
}

TEST(HostQueueTest, RunsACheapCommandAtOnceOnTheSubmittingThread) {
  HostQueue queue("test");
  std::thread::id ran;
  queue.submit(kCheap, [&ran](QueueReport&) {
    ran = std::this_thread::get_id();
    return Status();
  });
  EXPECT_EQ(ran, std::this_thread::get_id());
}

TEST(HostQueueTest, RunsOtherCommandsOnItsOwnThread) {
  HostQueue queue("test");
  std::thread::id ran;
  queue.submit(kDear, [&ran](QueueReport&) {
    ran = std::this_thread::get_id();
    return Status();
  });
  (void)queue.synchronize();
  EXPECT_NE(ran, std::this_thread::get_id());
  EXPECT_NE(ran, std::thread::id());
}

TEST(HostQueueTest, ACheapCommandDoesNotOvertake) {
  HostQueue queue("test");
  std::vector<int> log;
  std::latch go(1);
  queue.submit(kDear, [&](QueueReport&) {
    go.wait();
    log.push_back(1);
    return Status();
  });
  queue.submit(kCheap, append(log, 2));  // must not wait for the first, either
  queue.submit(kDear, append(log, 3));
  go.count_down();
  EXPECT_TRUE(queue.synchronize().status.ok());
  EXPECT_EQ(log, (std::vector{1, 2, 3}));
}

TEST(HostQueueTest, SkipsAfterAFailureUntilSynchronize) {
  for (const TaskManner& manner : {kCheap, kDear}) {
    HostQueue queue("test");
    std::vector<int> log;
    queue.submit(manner, append(log, 1));
    queue.submit(manner, fail_with(Code::device_error));
    queue.submit(manner, append(log, 3));
    queue.submit(manner, fail_with(Code::internal));
    queue.submit({.cheap = manner.cheap, .always = true}, append(log, 5));
    QueueReport report = queue.synchronize();
    EXPECT_EQ(report.status.code(), Code::device_error);
    EXPECT_EQ(report.failed_command, 2u);
    EXPECT_EQ(log, (std::vector{1, 5}));
    queue.submit(manner, append(log, 6));
    queue.fail(Status(Code::unsupported, "no"));
    report = queue.synchronize();
    EXPECT_EQ(report.status.code(), Code::unsupported);
    EXPECT_EQ(report.failed_command, 7u);
    EXPECT_EQ(log, (std::vector{1, 5, 6}));
    EXPECT_TRUE(queue.synchronize().status.ok());
  }
}

TEST(HostQueueTest, UncountedCommandsHaveNoNumber) {
  HostQueue queue("test");
  queue.submit({.cheap = true, .counted = false}, [](QueueReport&) { return Status(); });
  queue.on_reached(false, [](const QueueReport&) {});
  queue.submit(kCheap, fail_with(Code::device_error));
  EXPECT_EQ(queue.synchronize().failed_command, 1u);
}

TEST(HostQueueTest, AddsUpTimesUntilSynchronize) {
  HostQueue queue("test");
  for (int i = 0; i < 3; ++i) {
    queue.submit(kDear, [](QueueReport& report) {
      report.compute_ns += 10;
      report.plan_ns += 1;
      return Status();
    });
  }
  const QueueReport report = queue.synchronize();
  EXPECT_EQ(report.compute_ns, 30u);
  EXPECT_EQ(report.plan_ns, 3u);
  EXPECT_EQ(queue.synchronize().compute_ns, 0u);
}

TEST(HostQueueTest, OnReachedRunsAtOnceIfIdle) {
  HostQueue queue("test");
  std::thread::id ran;
  queue.on_reached(true, [&ran](const QueueReport&) { ran = std::this_thread::get_id(); });
  EXPECT_EQ(ran, std::this_thread::get_id());
}

TEST(HostQueueTest, ACallbackMaySubmitToItsOwnQueue) {
  HostQueue queue("test");
  std::atomic<int> count{0};
  const std::function<void(const QueueReport&)> again = [&](const QueueReport&) {
    if (++count < 5) queue.on_reached(false, again);
  };
  queue.on_reached(false, again);
  while (count < 5) (void)queue.synchronize();
  EXPECT_EQ(count, 5);
}

TEST(HostQueueTest, LetsGoOfCapturesBeforeSynchronizeReturns) {
  HostQueue queue("test");
  const auto token = std::make_shared<int>(0);
  for (const TaskManner& manner : {kDear, kCheap}) {
    queue.submit(manner, [token](QueueReport&) { return Status(); });
    (void)queue.synchronize();
    EXPECT_EQ(token.use_count(), 1);
  }
}

TEST(HostQueueTest, TheDestructorRunsWhatWasSubmitted) {
  std::atomic<int> ran{0};
  {
    HostQueue queue("test");
    for (int i = 0; i < 100; ++i) {
      queue.submit({.cheap = i % 3 == 0}, [&ran](QueueReport&) {
        ++ran;
        return Status();
      });
    }
  }
  EXPECT_EQ(ran, 100);
}

// The thread sanitizer checks this, too: only the queue orders accesses to plain ints.
TEST(HostQueueTest, NeverLosesOrReordersUnderStress) {
  std::minstd_rand engine(static_cast<unsigned>(test::test_seed()));
  for (int round = 0; round < 200; ++round) {
    HostQueue queue("test");
    int next = 0;
    bool ordered = true;
    int callbacks = 0;
    for (int i = 0; i < 100; ++i) {
      queue.submit({.cheap = engine() % 2 == 0}, [&, i](QueueReport&) {
        ordered = ordered && next == i;
        ++next;
        return Status();
      });
      if (engine() % 8 == 0)
        queue.on_reached(engine() % 2 == 0, [&](const QueueReport&) { ++callbacks; });
      if (engine() % 16 == 0) {
        ASSERT_TRUE(queue.synchronize().status.ok());
        ASSERT_EQ(next, i + 1);
      }
    }
    ASSERT_TRUE(queue.synchronize().status.ok());
    ASSERT_EQ(next, 100);
    ASSERT_TRUE(ordered);
  }
}

// The rule is one thread at a time. With two at once the queue must still lose nothing.
TEST(HostQueueTest, TwoSubmittersLoseNothing) {
  HostQueue queue("test");
  int ran = 0;
  const auto submit = [&](unsigned bits) {
    for (int i = 0; i < 3000; ++i) {
      queue.submit({.cheap = (static_cast<unsigned>(i) & bits) != 0}, [&ran](QueueReport&) {
        ++ran;
        return Status();
      });
    }
  };
  std::thread other(submit, 3u);
  submit(7u);
  other.join();
  (void)queue.synchronize();
  EXPECT_EQ(ran, 6000);
}

}  // namespace
}  // namespace ob
