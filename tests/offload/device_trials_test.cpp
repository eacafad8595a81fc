#include "offload/device_trials.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace ob::offload {
namespace {

// Runs calls that take the times in `truth` on 1, 2, 3 ... devices. Returns the numbers of devices.
std::vector<std::size_t> play(DeviceTrials& trials, std::span<const double> truth, int calls) {
  std::vector<std::size_t> ran;
  for (int i = 0; i < calls; ++i) {
    ran.push_back(trials.next());
    trials.took(ran.back(), truth[ran.back() - 1]);
  }
  return ran;
}

using Numbers = std::vector<std::size_t>;

TEST(DeviceTrials, WhatTheModelIsSureOfIsNotTried) {
  DeviceTrials trials;
  EXPECT_FALSE(trials.begun());
  trials.begin(std::array{8.0, 4.0, 3.0, 2.0}, 4);
  EXPECT_TRUE(trials.begun());
  EXPECT_EQ(play(trials, std::array{1.0, 1.0, 1.0, 2.0}, 4), Numbers(4, 4));
}

TEST(DeviceTrials, WhatIsNearlyAsGoodIsTriedAndTheFastestStays) {
  DeviceTrials trials;
  trials.begin(std::array{2.0, 1.5, 1.6, 1.7}, 2);
  EXPECT_EQ(play(trials, std::array{4.0, 2.0, 1.4, 1.0}, 9), (Numbers{2, 2, 4, 4, 1, 1, 4, 4, 4}));
}

TEST(DeviceTrials, TheModelsNumberStaysUnlessAnotherIsClearlyFaster) {
  DeviceTrials trials;
  trials.begin(std::array{1.0, 1.1}, 1);
  EXPECT_EQ(play(trials, std::array{1.0, 0.97}, 6), (Numbers{1, 1, 2, 2, 1, 1}));
}

TEST(DeviceTrials, TheBestRunOfEachCounts) {
  DeviceTrials trials;
  trials.begin(std::array{1.0, 1.1}, 1);
  for (const double seconds : {9.0, 1.0}) trials.took(trials.next(), seconds);
  for (const double seconds : {7.0, 0.5}) trials.took(trials.next(), seconds);
  EXPECT_EQ(trials.next(), 2u);
  // A call may run on another number: some devices may be missing.
  trials.took(3, 0.001);
  EXPECT_EQ(trials.next(), 2u);
}

}  // namespace
}  // namespace ob::offload
