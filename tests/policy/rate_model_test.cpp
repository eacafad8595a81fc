#include "policy/rate_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

namespace ob::policy {
namespace {

constexpr Rate kUnknown;
constexpr Rate kShipped{1e9, 1.5};

// A model whose first run, which never counts, is over.
class Begun {
 public:
  explicit Begun(unsigned confirmations = 1) : model(confirmations) {
    model.observe(1e6, 1, kUnknown);
  }
  RateModel model;
};

TEST(RateModel, BelievesWhatShipsUntilARunIsMeasured) {
  const RateModel model(1);
  EXPECT_EQ(model.at(1e6, kShipped).flop_per_s, 1e9);
  EXPECT_EQ(model.at(1e6, kShipped).error, 1.5);
  EXPECT_FALSE(model.knows(1e6));
  for (const double work : {0.0, 1.0, 1e6, 1e18, 1e300})
    EXPECT_EQ(model.at(work, kUnknown).flop_per_s, 0);
}

TEST(RateModel, TheFirstRunCountsForNothing) {
  RateModel model(1);
  model.observe(1e6, 1, kShipped);
  EXPECT_FALSE(model.knows(1e6));
  model.observe(1e6, 0.5e-3, kShipped);
  EXPECT_TRUE(model.knows(1e6));
  EXPECT_DOUBLE_EQ(model.at(1e6, kShipped).flop_per_s, 2e9);
  EXPECT_LT(model.at(1e6, kShipped).error, 1.5);
}

TEST(RateModel, ErrorsShrinkWithTheNumberOfRuns) {
  RateModel model = RateModel(1);
  for (int i = 0; i < 2; ++i) model.observe(1e6, 1e-3, kShipped);
  const double one = model.at(1e6, kShipped).error;
  for (int i = 0; i < 3; ++i) model.observe(1e6, 1e-3, kShipped);
  EXPECT_LT(model.at(1e6, kShipped).error, one);
}

// A rate of one size says how far the shipped curve is wrong, not what other sizes reach.
TEST(RateModel, CarriesTheCorrectionAndNotTheRate) {
  Begun begun;
  begun.model.observe(1 << 20, (1 << 20) / 0.8e9, kShipped);  // 0.8 of what ships
  const Rate larger{4e9, 1.5};
  EXPECT_NEAR(begun.model.at(1 << 22, larger).flop_per_s, 0.8 * 4e9, 1);
  // Far away, the shipped error stays, and bounds the correction.
  const Rate far = begun.model.at(std::ldexp(1, 35), larger);
  EXPECT_NEAR(far.flop_per_s, 0.8 * 4e9, 1);
  EXPECT_EQ(far.error, 1.5);
  begun.model.observe(1 << 20, (1 << 20) / 100e9, kShipped);
  EXPECT_NEAR(begun.model.at(std::ldexp(1, 35), larger).flop_per_s, 1.5 * 4e9, 1);
}

TEST(RateModel, LiesBetweenTheNeighboursOfAnUnknownSize) {
  Begun begun;
  begun.model.observe(1 << 20, (1 << 20) / 1e9, kUnknown);
  begun.model.observe(1 << 23, (1 << 23) / 8e9, kUnknown);
  const double low = begun.model.at(1 << 21, kUnknown).flop_per_s;
  const double high = begun.model.at(1 << 22, kUnknown).flop_per_s;
  EXPECT_GT(low, 1e9);
  EXPECT_GT(high, low);
  EXPECT_LT(high, 8e9);
}

// A dgesv was believed to take 1.64 s because its first call did.
TEST(RateModel, SlowRunsAreBelievedOnlyTogetherAndByTheBest) {
  Begun begun(3);
  begun.model.observe(1e6, 1e-3, kShipped);
  begun.model.observe(1e6, 9e-3, kShipped);
  begun.model.observe(1e6, 3e-3, kShipped);
  EXPECT_DOUBLE_EQ(begun.model.at(1e6, kShipped).flop_per_s, 1e9);
  begun.model.observe(1e6, 1e-3, kShipped);  // in between: the count begins anew
  begun.model.observe(1e6, 9e-3, kShipped);
  begun.model.observe(1e6, 9e-3, kShipped);
  EXPECT_DOUBLE_EQ(begun.model.at(1e6, kShipped).flop_per_s, 1e9);
  Begun other(3);
  for (const double seconds : {9e-3, 2e-3, 7e-3}) other.model.observe(1e6, seconds, kShipped);
  EXPECT_DOUBLE_EQ(other.model.at(1e6, kShipped).flop_per_s, 0.5e9);
}

TEST(RateModel, FollowsAMachineThatChanges) {
  Begun begun(3);
  for (int i = 0; i < 50; ++i) begun.model.observe(1e6, 1e-3, kShipped);
  for (int i = 0; i < 100; ++i) begun.model.observe(1e6, 2e-3, kShipped);
  EXPECT_NEAR(begun.model.at(1e6, kShipped).flop_per_s, 0.5e9, 0.02e9);
}

TEST(RateModel, WhatIsSupposedGivesWayToWhatIsSeen) {
  Begun begun;
  begun.model.suppose(1e6, 5e9, kShipped);
  EXPECT_DOUBLE_EQ(begun.model.at(1e6, kShipped).flop_per_s, 5e9);
  EXPECT_TRUE(begun.model.knows(1e6));
  for (int i = 0; i < 60; ++i) begun.model.observe(1e6, 1e-3, kShipped);
  EXPECT_NEAR(begun.model.at(1e6, kShipped).flop_per_s, 1e9, 1e7);
  begun.model.suppose(1e6, 5e9, kShipped);
  EXPECT_NEAR(begun.model.at(1e6, kShipped).flop_per_s, 1e9, 1e7);
}

TEST(RateModel, TellsItsRatesForAProfile) {
  Begun begun;
  begun.model.observe(1e6, 0.5e-3, kShipped);
  int sizes = 0;
  begun.model.each_ratio([&](double work_flop, double flop_per_s, double ratio) {
    EXPECT_NEAR(work_flop, 1e6, 0.5e6);
    EXPECT_DOUBLE_EQ(flop_per_s, 2e9);
    EXPECT_DOUBLE_EQ(ratio, 2);
    ++sizes;
  });
  EXPECT_EQ(sizes, 1);
}

TEST(RateModel, IgnoresNonsense) {
  Begun begun;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, kNan}) {
    begun.model.observe(bad, 1, kShipped);
    begun.model.observe(1e6, bad, kShipped);
    begun.model.suppose(bad, 1e9, kShipped);
    begun.model.suppose(1e6, bad, kShipped);
    EXPECT_EQ(begun.model.at(bad, kShipped).flop_per_s, 0);
  }
  begun.model.observe(kInf, 1, kShipped);
  EXPECT_EQ(begun.model.at(1e6, kShipped).flop_per_s, 1e9);
}

TEST(RateModel, ManyThreadsLeaveASensibleRate) {
  Begun begun(3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) begun.model.observe(1e6, 1e-3, kShipped);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NEAR(begun.model.at(1e6, kShipped).flop_per_s, 1e9, 1);
}

}  // namespace
}  // namespace ob::policy
