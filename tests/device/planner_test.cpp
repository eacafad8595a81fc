#include "device/planner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace ob {
namespace {

struct Made {
  bool done = false;
};

template <class Make>
Status plan_with(Planner& planner, bool quick, std::shared_ptr<Made> plan, Make make,
                 const Account& account = {}) {
  OB_RETURN_IF_ERROR(planner.admit(account));
  planner.submit(account, quick, std::move(plan), std::move(make));
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

// Submits a plan that takes until the gate opens.
Status hold(Planner& planner, Gate& gate, const std::shared_ptr<Made>& plan,
            const Account& account = {}) {
  return plan_with(
      planner, false, plan, [&gate](Made&) { gate.pass(); }, account);
}

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
  ASSERT_TRUE(hold(planner, gate, first).ok());
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
  ASSERT_TRUE(hold(planner, gate, plan).ok());
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

TEST(Planner, ManyPlansOfOneUserDoNotDelayAnother) {
  Planner planner(1600);
  Gate gate;
  const auto plan = std::make_shared<Made>();
  const Account many{UserId{1}, SessionId{1}};
  const Account few{UserId{2}, SessionId{2}};
  const Account sibling{UserId{1}, SessionId{3}};
  std::vector<char> order;
  const auto note = [&order](char who) {
    return [&order, who](Made&) {
      order.push_back(who);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
  };
  ASSERT_TRUE(hold(planner, gate, plan, many).ok());
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(plan_with(planner, false, plan, note('m'), many).ok());
  }
  ASSERT_TRUE(plan_with(planner, false, plan, note('f'), few).ok());
  ASSERT_TRUE(plan_with(planner, false, plan, note('s'), sibling).ok());
  gate.open();
  planner.finish();
  ASSERT_EQ(order.size(), 302u);
  // Each of the two waits for one plan of every other claim at most.
  for (const char who : {'f', 's'}) {
    const auto at = std::find(order.begin(), order.end(), who) - order.begin();
    EXPECT_LT(at, 4) << who;
  }
}

TEST(Planner, AUserCannotTakeAllWaitingPlaces) {
  Planner planner(1600);
  Gate gate;
  const auto plan = std::make_shared<Made>();
  const Account greedy{UserId{1}, SessionId{1}};
  const Account other{UserId{2}, SessionId{2}};
  ASSERT_TRUE(hold(planner, gate, plan, greedy).ok());
  while (plan_with(
             planner, false, plan, [](Made&) {}, greedy)
             .ok()) {
  }
  EXPECT_TRUE(plan_with(
                  planner, false, plan, [](Made&) {}, other)
                  .ok());
  gate.open();
}

}  // namespace
}  // namespace ob
