#include "client/best_times.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ob::client {
namespace {

TEST(BestTimes, ThereIsNoneBeforeTheFirst) {
  const BestTimes times;
  EXPECT_TRUE(std::isinf(times.best()));
  EXPECT_FALSE(times.agree());
}

TEST(BestTimes, OneTimeAgreesWithNothing) {
  BestTimes times;
  times.add(1);
  EXPECT_EQ(times.best(), 1);
  EXPECT_FALSE(times.agree());
}

TEST(BestTimes, DisturbedTimesDoNotCount) {
  BestTimes times;
  for (const double seconds : {70.0, 1.1, 3.0, 50.0}) {
    times.add(seconds);
    EXPECT_FALSE(times.agree()) << seconds;
  }
  times.add(1);
  EXPECT_EQ(times.best(), 1);
  EXPECT_TRUE(times.agree());
  times.add(0.5);  // so both before were disturbed
  EXPECT_FALSE(times.agree());
}

}  // namespace
}  // namespace ob::client
