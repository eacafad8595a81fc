#include "device/planner.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

namespace ob {
namespace {

struct Made {
  bool done = false;
};

template <class Make>
Status plan_with(Planner& planner, bool quick, std::shared_ptr<Made> plan, Make make) {
  OB_RETURN_IF_ERROR(planner.admit());
  planner.submit(quick, std::move(plan), std::move(make));
  return {};
}

FftPlan line(std::uint64_t points) {
  FftPlan plan;
  plan.kind = FftKind::c2c;
  plan.precision = Precision::z;
  plan.sign = -1;
  plan.rank = 1;
  plan.n[0] = points;
  plan.batch = 1;
  return plan;
}

// Holds the planner's thread until it is opened.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

TEST(Planner, ArraysLargerThanTheDeviceCannotBePlanned) {
  const Planner planner(1600);
  EXPECT_TRUE(planner.check(line(100)).ok());
  EXPECT_EQ(planner.check(line(101)).code(), Code::out_of_memory);
  EXPECT_EQ(planner.check(line(0)).code(), Code::invalid_argument);
}

TEST(Planner, AQuickPlanIsMadeAtOnceIfNobodyWaits) {
  Planner planner(1600);
  const auto plan = std::make_shared<Made>();
  ASSERT_TRUE(plan_with(planner, true, plan, [](Made& made) { made.done = true; }).ok());
  EXPECT_TRUE(plan->done);
}

TEST(Planner, WhatWasDestroyedMeanwhileIsNotMade) {
  Planner planner(1600);
  Gate gate;
  const auto first = std::make_shared<Made>();
  ASSERT_TRUE(plan_with(planner, false, first, [&](Made&) { gate.pass(); }).ok());
  bool made = false;
  ASSERT_TRUE(
      plan_with(planner, false, std::make_shared<Made>(), [&](Made&) { made = true; }).ok());
  gate.open();
  planner.finish();
  EXPECT_FALSE(made);
}

TEST(Planner, TooManyThatWaitAreRefusedUntilOneIsMade) {
  Planner planner(1600);
  Gate gate;
  const auto plan = std::make_shared<Made>();
  ASSERT_TRUE(plan_with(planner, false, plan, [&](Made&) { gate.pass(); }).ok());
  Status status;
  int more = 0;
  while (status.ok() && more < 100000) {
    status = plan_with(planner, false, plan, [](Made&) {});
    ++more;
  }
  EXPECT_EQ(status.code(), Code::out_of_memory) << more;
  gate.open();
  planner.finish();
  EXPECT_TRUE(plan_with(planner, false, plan, [](Made&) {}).ok());
}

}  // namespace
}  // namespace ob
