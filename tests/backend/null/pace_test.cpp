#include "backend/null/pace.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace ob::null {
namespace {

using Clock = std::chrono::steady_clock;

TEST(PaceTest, ZeroRateTakesNoTime) {
  Pace pace(0);
  EXPECT_EQ(pace.seconds(1e30), 0);
  pace.spend(1e30);
}

TEST(PaceTest, TimesAddUp) {
  Pace pace(1e-3);  // 1 MFLOP/s
  const auto start = Clock::now();
  for (int i = 0; i < 4; ++i) pace.spend(3000);
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(12) - std::chrono::microseconds(50));
}

TEST(PaceTest, ShortTimesAreOwed) {
  Pace pace(1e-3);
  const auto start = Clock::now();
  for (int i = 0; i < 1000; ++i) pace.spend(10);  // 10 us each, too short to sleep
  EXPECT_GE(Clock::now() - start, std::chrono::microseconds(9900));
}

}  // namespace
}  // namespace ob::null
