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

/// Runs iterations of the chosen mode that take `seconds`, one in ten of them slow. Returns how
/// many it ran before the trials began again, or `most`.
int run_chosen(ModeTrials& trials, double seconds, int most) {
  const Mode chosen = trials.chosen();
  for (int i = 0; i < most; ++i) {
    if (trials.due()) trials.choose(trials.medians());
    if (trials.next() != chosen) return i;
    trials.record(i % 10 == 9 ? 100 : seconds);
  }
  return most;
}

TEST(ModeTrials, TakesTheModeWithTheLeastMedianAndTriesAgain) {
  ModeTrials trials({Mode::sync, Mode::ticked, Mode::proxy});
  EXPECT_EQ(trials.chosen(), Mode::automatic);
  run_trials(trials, {{Mode::sync, 3}, {Mode::ticked, 1}, {Mode::proxy, 2}});
  EXPECT_EQ(trials.medians(), (std::vector<double>{3, 1, 2}));
  trials.choose(trials.medians());
  EXPECT_EQ(run_chosen(trials, 1.2, ModeTrials::kRetry), ModeTrials::kRetry);
  EXPECT_EQ(trials.chosen(), Mode::ticked);
  run_trials(trials, {{Mode::sync, 3}, {Mode::ticked, 4}, {Mode::proxy, 2}});
  trials.choose(trials.medians());
  EXPECT_EQ(trials.next(), Mode::proxy);
}

TEST(ModeTrials, TriesThoseThatAreNearlyTheFastestAgain) {
  const std::map<Mode, double> seconds = {
      {Mode::sync, 3}, {Mode::ticked, 1.2}, {Mode::shared, 1.1}, {Mode::proxy, 1.3}};
  ModeTrials trials({Mode::sync, Mode::ticked, Mode::shared, Mode::proxy});
  // Something else disturbs all but `ticked`, and `ticked` has luck.
  run_trials(trials,
             {{Mode::sync, 3}, {Mode::ticked, 1}, {Mode::shared, 1.15}, {Mode::proxy, 1.3}});
  trials.choose(trials.medians());
  EXPECT_EQ(trials.chosen(), Mode::automatic);
  std::map<Mode, int> runs;
  while (!trials.due()) {
    const Mode mode = trials.next();
    ++runs[mode];
    trials.record(seconds.at(mode));
  }
  EXPECT_EQ(runs, (std::map<Mode, int>{{Mode::ticked, ModeTrials::kPerMode},
                                       {Mode::shared, ModeTrials::kPerMode}}));
  trials.choose(trials.medians());
  EXPECT_EQ(trials.chosen(), Mode::shared);
  EXPECT_EQ(trials.agreed(), (std::vector<double>{3, 1.2, 1.15, 1.3}));  // of both rounds
}

TEST(ModeTrials, FollowsTheTimesOfAllRanks) {
  ModeTrials trials({Mode::sync, Mode::async});
  run_trials(trials, {{Mode::sync, 1}, {Mode::async, 2}});
  trials.choose({5, 2});  // another rank is slower
  EXPECT_EQ(trials.next(), Mode::async);
}

TEST(ModeTrials, TriesAgainSoonAfterAChange) {
  for (const double later : {2.0, 0.5}) {
    ModeTrials trials({Mode::sync, Mode::ticked});
    run_trials(trials, {{Mode::sync, 3}, {Mode::ticked, 1}});
    trials.choose(trials.medians());
    int ran = run_chosen(trials, 1, 40);
    EXPECT_EQ(ran, 40);
    ran += run_chosen(trials, later, ModeTrials::kRetry);
    EXPECT_EQ(ran, 2 * ChangeWatch::kFirst);
    while (!trials.due()) {
      trials.record(1);
      (void)trials.next();
    }
    trials.choose({1, 3});
    EXPECT_EQ(trials.next(), Mode::sync);
  }
}

TEST(ModeTrials, ComparesTheTimesOfAllRanks) {
  ModeTrials trials({Mode::sync, Mode::ticked});
  run_trials(trials, {{Mode::sync, 1}, {Mode::ticked, 3}});
  trials.choose({2, 3});  // another rank is slower
  for (int i = 0; i < ChangeWatch::kFirst; ++i) {
    ASSERT_FALSE(trials.due());
    EXPECT_EQ(trials.next(), Mode::sync);
    trials.record(1);
  }
  ASSERT_TRUE(trials.due());
  EXPECT_EQ(trials.medians(), (std::vector<double>{1}));
  trials.choose({2.1});  // it still is
  EXPECT_FALSE(trials.due());
  for (int i = 0; i < ChangeWatch::kFirst; ++i) EXPECT_EQ(trials.next(), Mode::sync);
  ASSERT_TRUE(trials.due());
  trials.choose({4});
  for (int i = 0; i < 2 * ModeTrials::kPerMode; ++i) (void)trials.next();
  EXPECT_TRUE(trials.due());
  EXPECT_EQ(trials.medians().size(), 2U);
}

TEST(ModeTrials, AProgramWithoutSteadyTimesIsTriedSeldom) {
  ModeTrials trials({Mode::sync, Mode::ticked});
  int rounds = 0;  // each trial has two here
  double seconds = 1;
  for (int i = 0; i < 4000; ++i) {
    if (trials.due()) {
      const bool in_trial = trials.medians().size() == 2;
      rounds += in_trial ? 1 : 0;
      trials.choose(trials.medians());
      seconds *= 2;
    }
    (void)trials.next();
    trials.record(seconds);
  }
  EXPECT_GE(rounds, 12);
  EXPECT_LE(rounds, 24);
}

TEST(ModeTrials, LongAndShortIterationsInTurnAreNoChange) {
  ModeTrials trials({Mode::sync, Mode::ticked});
  const auto seconds = [](Mode mode, int i) { return (mode == Mode::sync ? 3 : 1) * (1 + i % 2); };
  for (int i = 0; !trials.due(); ++i) trials.record(seconds(trials.next(), i));
  trials.choose(trials.medians());
  for (int i = 0; i < ModeTrials::kRetry; ++i) {
    if (trials.due()) trials.choose(trials.medians());
    ASSERT_EQ(trials.next(), Mode::ticked) << i;
    trials.record(seconds(Mode::ticked, i));
  }
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
