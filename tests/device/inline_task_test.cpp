#include "device/inline_task.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "device/detail/task_ring.hpp"

namespace ob {
namespace {

TEST(InlineTaskTest, RunsWhatItHolds) {
  InlineTask task([](QueueReport& report) {
    report.compute_ns = 7;
    return Status(Code::device_error, "x");
  });
  QueueReport report;
  EXPECT_EQ(task(report).code(), Code::device_error);
  EXPECT_EQ(report.compute_ns, 7u);
}

TEST(InlineTaskTest, MovesItsCapturesAndDestroysThemOnce) {
  const auto token = std::make_shared<int>(5);
  {
    InlineTask first([token](QueueReport& report) {
      report.plan_ns = static_cast<std::uint64_t>(*token);
      return Status();
    });
    EXPECT_EQ(token.use_count(), 2);
    InlineTask second(std::move(first));
    EXPECT_EQ(token.use_count(), 2);
    InlineTask third;
    third = std::move(second);
    EXPECT_EQ(token.use_count(), 2);
    QueueReport report;
    EXPECT_TRUE(third(report).ok());
    EXPECT_EQ(report.plan_ns, 5u);
    third = InlineTask();
    EXPECT_EQ(token.use_count(), 1);
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST(TaskRingTest, IsFirstInFirstOutWhileItGrowsAndWraps) {
  detail::TaskRing ring;
  std::uint64_t pushed = 0;
  std::uint64_t popped = 0;
  const auto pop = [&] {
    QueueReport report;
    auto entry = ring.pop();
    ASSERT_TRUE(entry.task(report).ok());
    ASSERT_EQ(report.compute_ns, popped++);
  };
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 1 + round % 7; ++i) {
      ring.push({false, true, InlineTask([number = pushed++](QueueReport& report) {
                   report.compute_ns = number;
                   return Status();
                 })});
    }
    for (int i = 0; i < round % 5 && !ring.empty(); ++i) pop();
  }
  while (!ring.empty()) pop();
  EXPECT_EQ(popped, pushed);
}

// A queue holds at most 256 commands and twice as many answers, in a ring that doubles. Sessions
// are charged this memory for a queue (docs/security.md).
TEST(TaskRingTest, TheCommandsOfAQueueTakeNoMoreThanSessionsAreChargedFor) {
  EXPECT_LE(1024 * sizeof(detail::TaskRing::Entry), std::size_t{1} << 20);
}

}  // namespace
}  // namespace ob
