#include "overlap/mode_trials.hpp"

#include <gtest/gtest.h>

#include <map>

namespace ob::overlap {
namespace {

/// Runs trials of modes that take `seconds`, with one slow iteration for each.
void run_trials(ModeTrials& trials, std::map<Mode, double> seconds) {
  std::map<Mode, int> runs;
  while (!trials.due()) {
    const Mode mode = trials.next();
    const int run = runs[mode]++;
    trials.record(run == 0 || run == 3 ? 100 : seconds[mode]);
  }
  for (const auto& [mode, count] : runs) EXPECT_EQ(count, ModeTrials::kPerMode);
}

TEST(ModeTrials, TakesTheModeWithTheLeastMedianAndTriesAgain) {
  ModeTrials trials({Mode::sync, Mode::ticked, Mode::proxy});
  EXPECT_EQ(trials.chosen(), Mode::automatic);
  run_trials(trials, {{Mode::sync, 3}, {Mode::ticked, 1}, {Mode::proxy, 2}});
  EXPECT_EQ(trials.medians(), (std::vector<double>{3, 1, 2}));
  trials.choose(trials.medians());
  for (int i = 0; i < ModeTrials::kRetry; ++i) EXPECT_EQ(trials.next(), Mode::ticked);
  run_trials(trials, {{Mode::sync, 3}, {Mode::ticked, 4}, {Mode::proxy, 2}});
  trials.choose(trials.medians());
  EXPECT_EQ(trials.next(), Mode::proxy);
}

TEST(ModeTrials, FollowsTheTimesOfAllRanks) {
  ModeTrials trials({Mode::sync, Mode::async});
  run_trials(trials, {{Mode::sync, 1}, {Mode::async, 2}});
  trials.choose({5, 2});  // another rank is slower
  EXPECT_EQ(trials.next(), Mode::async);
}

TEST(ModeTrials, OneCandidateNeedsNoTrial) {
  ModeTrials trials({Mode::shared});
  for (int i = 0; i < 3 * ModeTrials::kRetry; ++i) {
    ASSERT_FALSE(trials.due());
    ASSERT_EQ(trials.next(), Mode::shared);
  }
}

}  // namespace
}  // namespace ob::overlap
