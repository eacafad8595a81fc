#include "policy/size_table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

namespace ob::policy {
namespace {

TEST(RateTable, KnowsNothingAtFirst) {
  const RateTable table;
  for (const double work : {0.0, 1.0, 1e6, 1e18, 1e300}) EXPECT_EQ(table.rate(work), 0);
}

TEST(RateTable, RemembersOneObservation) {
  RateTable table;
  table.observe(1e9, 0.5);
  EXPECT_DOUBLE_EQ(table.rate(1e9), 2e9);
}

// The first run of a size starts threads and touches memory. If it decided, this size would always
// be remote and never be timed locally again.
TEST(RateTable, ShortRunsCountFromTheThirdByTheBest) {
  RateTable table;
  table.observe(128, 2e-3);
  table.observe(128, 1e-7);
  EXPECT_EQ(table.rate(128), 0);
  table.observe(128, 2e-7);
  EXPECT_DOUBLE_EQ(table.rate(128), 128 / 1e-7);
}

TEST(RateTable, AnswersForNearSizesOnly) {
  RateTable table;
  table.observe(1 << 20, 1e-2);
  const double seen = table.rate(1 << 20);
  EXPECT_EQ(table.rate(1 << 17), seen);
  EXPECT_EQ(table.rate(1 << 23), seen);
  EXPECT_EQ(table.rate(1 << 16), 0);
  EXPECT_EQ(table.rate(1 << 24), 0);
}

// A call that runs for seconds is not run locally again just to be timed. Rates hardly change
// beyond a few hundred rows.
TEST(RateTable, TheRateOfLargeWorkHoldsForAllThatIsLarger) {
  RateTable table;
  table.observe(1e9, 0.1);
  EXPECT_EQ(table.rate(1e15), 1e10);
  EXPECT_EQ(table.rate(1e6), 0);
}

TEST(RateTable, LiesBetweenTheNeighboursOfAnUnknownSize) {
  RateTable table;
  table.observe(1 << 20, 1);
  table.observe(1 << 23, 1);
  const double low = table.rate(1 << 21), high = table.rate(1 << 22);
  EXPECT_GE(low, 1 << 20);
  EXPECT_GT(high, low);
  EXPECT_LE(high, 1 << 23);
}

TEST(RateTable, WhatIsSupposedGivesWayToWhatIsSeen) {
  RateTable table;
  table.suppose(1e6, 5e9);
  EXPECT_EQ(table.rate(1e6), 5e9);
  for (int i = 0; i < 40; ++i) table.observe(1e6, 1e-3);
  EXPECT_NEAR(table.rate(1e6), 1e9, 1e7);
  table.suppose(1e6, 5e9);
  EXPECT_NEAR(table.rate(1e6), 1e9, 1e7);
}

TEST(RateTable, FollowsAMachineThatChanges) {
  RateTable table;
  for (int i = 0; i < 50; ++i) table.observe(1e6, 1e-3);
  for (int i = 0; i < 50; ++i) table.observe(1e6, 2e-3);
  EXPECT_NEAR(table.rate(1e6), 0.5e9, 0.01e9);
  table.observe(1e6, 2e-5);  // one outlier changes the rate only partly
  EXPECT_GT(table.rate(1e6), 0.5e9);
  EXPECT_LT(table.rate(1e6), 0.5e11);
}

TEST(RateTable, IgnoresNonsense) {
  RateTable table;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, kNan}) {
    table.observe(bad, 1);
    table.observe(1e6, bad);
    EXPECT_EQ(table.rate(bad), 0);
  }
  EXPECT_EQ(table.rate(1e6), 0);
  EXPECT_EQ(table.rate(kInf), 0);
  table.observe(1e6, 1);
  table.observe(kInf, 1);
  EXPECT_EQ(table.rate(1e6), 1e6);
}

TEST(RateTable, ManyThreadsLeaveASensibleRate) {
  RateTable table;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) table.observe(1e6, 1e-3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NEAR(table.rate(1e6), 1e9, 1);
}

}  // namespace
}  // namespace ob::policy
