#include "device/learnt_times.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ob {
namespace {

constexpr std::uint64_t kKind = 7;

TEST(LearntTimesTest, WhatWasNeverSeenIsUnknown) {
  LearntTimes times;
  EXPECT_EQ(times.predict(kKind, 1e9), 0);
  times.observe(kKind, 1e9, 2);
  EXPECT_EQ(times.predict(kKind + 1, 1e9), 0);
  EXPECT_EQ(times.predict(kKind, 0), 0);
  EXPECT_EQ(times.predict(kKind, std::nan("")), 0);
  EXPECT_EQ(times.predict(kKind, std::numeric_limits<double>::infinity()), 0);
}

TEST(LearntTimesTest, WorkOfOneSizeTakesItsRate) {
  LearntTimes times;
  times.observe(kKind, 1024, 2);
  EXPECT_DOUBLE_EQ(times.predict(kKind, 1024), 2);
  EXPECT_DOUBLE_EQ(times.predict(kKind, 1536), 3);
}

TEST(LearntTimesTest, OfSmallerWorkNoMoreThanItsEightfoldIsConcluded) {
  LearntTimes times;
  times.observe(kKind, 1024, 2);
  EXPECT_DOUBLE_EQ(times.predict(kKind, 4096), 8);
  EXPECT_DOUBLE_EQ(times.predict(kKind, 8192), 16);
  EXPECT_DOUBLE_EQ(times.predict(kKind, 1e30), 16);
}

TEST(LearntTimesTest, TheNearestSmallerWorkCountsBeforeTheLarger) {
  LearntTimes times;
  times.observe(kKind, 1 << 20, 100);
  EXPECT_DOUBLE_EQ(times.predict(kKind, 1 << 10), 100.0 / 1024);  // by the rate of larger work
  times.observe(kKind, 1 << 8, 1);
  EXPECT_DOUBLE_EQ(times.predict(kKind, 1 << 10), 4);
  EXPECT_DOUBLE_EQ(times.predict(kKind, 1 << 21), 200);
}

TEST(LearntTimesTest, FasterTimesCountAtOnceSlowerOnesByAndBy) {
  LearntTimes times;
  times.observe(kKind, 1000, 100);
  times.observe(kKind, 1000, 1);
  EXPECT_DOUBLE_EQ(times.predict(kKind, 1000), 1);
  times.observe(kKind, 1000, 5);
  EXPECT_DOUBLE_EQ(times.predict(kKind, 1000), 2);
  for (int i = 0; i < 30; ++i) times.observe(kKind, 1000, 5);
  EXPECT_NEAR(times.predict(kKind, 1000), 5, 0.01);
}

TEST(LearntTimesTest, WhatTakesNextToNothingIsForgottenHoweverLongItTookBefore) {
  LearntTimes times;
  times.observe(kKind, 1000, 100);
  times.observe(kKind, 1 << 20, 200);
  times.observe(kKind, 1000, LearntTimes::kShortestSeconds / 2);
  EXPECT_LT(times.predict(kKind, 1000), 1);  // by the rate of larger work
  EXPECT_DOUBLE_EQ(times.predict(kKind, 1 << 20), 200);
  times.observe(kKind, 1 << 20, LearntTimes::kShortestSeconds / 2);
  EXPECT_EQ(times.predict(kKind, 1 << 20), 0);
}

TEST(LearntTimesTest, WhatTakesNextToNothingIsNotRemembered) {
  LearntTimes times;
  times.observe(kKind, 1000, LearntTimes::kShortestSeconds / 2);
  times.observe(kKind, 0, 1);
  EXPECT_EQ(times.predict(kKind, 1000), 0);
}

}  // namespace
}  // namespace ob
