#include "policy/decision.hpp"

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

// The first run of a size starts threads and touches memory; if it decided, the size would go out
// for ever and never be timed here again.
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

TEST(RateTable, PrefersTheNearestSize) {
  RateTable table;
  table.observe(1 << 20, 1);
  table.observe(1 << 23, 1);
  EXPECT_EQ(table.rate(1 << 21), 1 << 20);
  EXPECT_EQ(table.rate(1 << 22), 1 << 23);
}

TEST(RateTable, FollowsAMachineThatChanges) {
  RateTable table;
  for (int i = 0; i < 50; ++i) table.observe(1e6, 1e-3);
  for (int i = 0; i < 50; ++i) table.observe(1e6, 2e-3);
  EXPECT_NEAR(table.rate(1e6), 0.5e9, 0.01e9);
  table.observe(1e6, 2e-5);  // one outlier moves it, but not all the way
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

const Remote kFast{.link = {.round_trip_s = 1e-4, .to_bytes_per_s = 1e9, .from_bytes_per_s = 1e9},
                   .flop_per_s = 1e12};

TEST(Decide, AnUnknownLinkOrDeviceMeansLocal) {
  EXPECT_EQ(decide({1e15, 1, 1}, 1e9, {}).choice, Choice::local);
  Remote no_rate = kFast;
  no_rate.flop_per_s = 0;
  EXPECT_EQ(decide({1e15, 1, 1}, 1e9, no_rate).choice, Choice::local);
  EXPECT_EQ(decide({1e15, 1, 1}, 0, {}).choice, Choice::local);
}

TEST(Decide, AnUnknownLocalRateIsLearned) {
  EXPECT_EQ(decide({1e12, 1e6, 1e6}, 0, kFast).choice, Choice::learn_local);
}

TEST(Decide, AddsUpTheModel) {
  const Decision decision = decide({2e12, 3e9, 1e9}, 1e9, kFast);
  EXPECT_NEAR(decision.remote_s, 2e-4 + 3 + 1 + 2, 1e-9);
  EXPECT_NEAR(decision.local_s, 2000, 1e-9);
  EXPECT_EQ(decision.choice, Choice::remote);
}

TEST(Decide, WhatOverlapsIsHiddenButForAPanel) {
  Work work{2e12, 3e9, 1e9};
  work.overlaps = true;
  // stages of 3, 2 and 1 s: the longest, and a quarter of the others
  EXPECT_NEAR(decide(work, 1e9, kFast).remote_s, 2e-4 + 3 + 3.0 / 4, 1e-9);
  work.overlaps = false;
  EXPECT_NEAR(decide(work, 1e9, kFast).remote_s, 2e-4 + 6, 1e-9);
}
TEST(Decide, AsksForAMargin) {
  const Work work{1e12, 0, 0};
  const double remote_s = decide(work, 1, kFast).remote_s;
  EXPECT_EQ(decide(work, work.flop / (remote_s * kMargin * 1.01), kFast).choice, Choice::remote);
  EXPECT_EQ(decide(work, work.flop / (remote_s * kMargin * 0.99), kFast).choice, Choice::local);
}

TEST(Decide, MoreBytesNeverMakeRemoteBetter) {
  double before = 0;
  for (double bytes = 1; bytes < 1e12; bytes *= 10) {
    const double remote_s = decide({1e12, bytes, bytes}, 1e11, kFast).remote_s;
    EXPECT_GT(remote_s, before);
    before = remote_s;
  }
  EXPECT_EQ(decide({1e12, 1e12, 1e12}, 1e11, kFast).choice, Choice::local);
}

}  // namespace
}  // namespace ob::policy
