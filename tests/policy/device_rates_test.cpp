#include "policy/device_rates.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace ob::policy {
namespace {

constexpr RateFamily kLu = RateFamily::lu;

TEST(DeviceRates, AFamilyThatWasNotMeasuredIsUnknown) {
  const std::vector<RoutineRate> measured = {{kLu, 1e6, 10}};
  EXPECT_EQ(measured_rate({}, kLu, 1e6).flop_per_s, 0);
  EXPECT_EQ(measured_rate(measured, RateFamily::qr, 1e6).flop_per_s, 0);
  EXPECT_EQ(measured_rate(measured, RateFamily::none, 1e6).flop_per_s, 0);
}

TEST(DeviceRates, RatesOfNoFamilyAreIgnored) {
  const std::vector<RoutineRate> measured = {{RateFamily::none, 1e6, 10}};
  EXPECT_EQ(measured_rate(measured, RateFamily::none, 1e6).flop_per_s, 0);
}

TEST(DeviceRates, MeasuredSizesHaveTheirRates) {
  const std::vector<RoutineRate> measured = {
      {kLu, 8e9, 400}, {RateFamily::qr, 1e9, 7}, {kLu, 1e6, 10}, {kLu, 1e9, 100}};
  EXPECT_NEAR(measured_rate(measured, kLu, 1e6).flop_per_s, 10e9, 1);
  EXPECT_NEAR(measured_rate(measured, kLu, 1e9).flop_per_s, 100e9, 1);
  EXPECT_NEAR(measured_rate(measured, kLu, 8e9).flop_per_s, 400e9, 1);
}

// The order at 3.375e9 flop is in the middle of those at 1e9 and 8e9.
TEST(DeviceRates, RatesBetweenGrowWithTheOrder) {
  const std::vector<RoutineRate> measured = {{kLu, 1e9, 100}, {kLu, 8e9, 400}};
  EXPECT_NEAR(measured_rate(measured, kLu, 3.375e9).flop_per_s, 250e9, 1e3);
  double last = 0;
  for (double flop = 1e9; flop <= 8e9; flop *= 1.1) {
    const double rate = measured_rate(measured, kLu, flop).flop_per_s;
    EXPECT_GT(rate, last);
    last = rate;
  }
}

TEST(DeviceRates, SmallerCallsAreSlowerAndLargerOnesAreNotFaster) {
  const std::vector<RoutineRate> measured = {{kLu, 1e9, 100}};
  EXPECT_NEAR(measured_rate(measured, kLu, 1e6).flop_per_s, 10e9, 1e3);
  EXPECT_NEAR(measured_rate(measured, kLu, 1e15).flop_per_s, 100e9, 1);
}

TEST(DeviceRates, SizesFarFromMeasuredOnesHaveALargerError) {
  const std::vector<RoutineRate> measured = {{kLu, 1e6, 10}, {kLu, 1e9, 100}};
  const double near = measured_rate(measured, kLu, 1e9).error;
  EXPECT_GT(near, 1);
  EXPECT_EQ(measured_rate(measured, kLu, 3e7).error, near);
  EXPECT_EQ(measured_rate(measured, kLu, 2e5).error, near);
  EXPECT_GT(measured_rate(measured, kLu, 1e5).error, near);
  EXPECT_EQ(measured_rate(measured, kLu, 8e9).error, near);
  EXPECT_GT(measured_rate(measured, kLu, 9e9).error, near);
}

TEST(DeviceRates, WorkWithoutAMeaningHasNoRate) {
  const std::vector<RoutineRate> measured = {{kLu, 1e9, 100}};
  for (const double flop : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(measured_rate(measured, kLu, flop).flop_per_s, 0) << flop;
}

}  // namespace
}  // namespace ob::policy
