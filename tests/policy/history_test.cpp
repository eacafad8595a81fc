#include "policy/history.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "support/random.hpp"

namespace ob::policy {
namespace {

// A program that repeats the same call. Only this struct knows the real times.
struct World {
  double local_s = 0;
  double remote_s = 0;
  double remote_first_s = 0;  ///< the first remote call in a row; 0: as the others
};

struct Tally {
  int remote = 0;
  int trials = 0;
  int changes = 0;
  double lost_s = 0;  ///< by remote calls and trials, compared with local calls
};

Estimate estimate_of(double local_s, double remote_s, double error = 1.3) {
  Estimate estimate;
  estimate.shape = 7;
  estimate.operands = {{{1, 8e6}}};
  estimate.local_s = local_s;
  estimate.remote_s = estimate.remote_again_s = remote_s;
  estimate.local_error = estimate.remote_error = error;
  return estimate;
}

class Histories : public testing::Test {
 protected:
  Tally run(const World& world, const Estimate& estimate, int calls) {
    Tally tally;
    for (int i = 0; i < calls; ++i) {
      const Decision decision = history_.decide(estimate);
      const bool remote = decision.target == Target::remote;
      const bool is_first = world.remote_first_s > 0 && !was_remote_;
      const double there_s = is_first ? world.remote_first_s : world.remote_s;
      if (decision.state == State::trial) {
        EXPECT_FALSE(remote);  // the program sees only the local results of a trial
        history_.observe_trial(estimate.shape, there_s, 0);
        tally.lost_s += there_s;
        ++tally.trials;
      }
      history_.observe(estimate.shape, decision.target, remote ? there_s : world.local_s, 0);
      if (remote) tally.lost_s += std::max(0.0, there_s - world.local_s);
      tally.changes += (begun_ && remote != was_remote_) ? 1 : 0;
      tally.remote += remote ? 1 : 0;
      was_remote_ = remote;
      begun_ = true;
    }
    return tally;
  }
  // Lets the program have spent so much time in calls.
  void spend(double seconds) { budget_.spend(seconds); }

  LossBudget budget_;
  History history_{budget_};
  bool was_remote_ = false;
  bool begun_ = false;
};

TEST(Samples, TellTheMiddleOfTheLastFew) {
  Samples samples;
  EXPECT_EQ(samples.median(), 0);
  samples.add(8);
  samples.add(2);
  EXPECT_EQ(samples.median(), 2);  // the first run is often slow
  samples.add(4);
  EXPECT_EQ(samples.median(), 4);
  for (int i = 0; i < 7; ++i) samples.add(16);
  EXPECT_EQ(samples.median(), 16);
  samples.add(1000);
  EXPECT_EQ(samples.median(), 16);
}

TEST(LossBudget, AllowsAPartOfTheTimeAndALittleAtTheStart) {
  LossBudget budget;
  EXPECT_DOUBLE_EQ(budget.left_s(), LossBudget::kStartS);
  budget.spend(1);
  EXPECT_DOUBLE_EQ(budget.left_s(), LossBudget::kStartS + LossBudget::kShare);
  budget.set_up(0.02);
  EXPECT_LT(budget.left_s(), 0);
  EXPECT_FALSE(budget.is_overdrawn());  // connecting is no mistake
  budget.lose(0.02);
  EXPECT_TRUE(budget.is_overdrawn());
  EXPECT_DOUBLE_EQ(budget.lost_s(), 0.04);
}

TEST_F(Histories, WithoutATimeOfOneSideCallsAreLocalAndUnknown) {
  for (const Estimate& estimate : {estimate_of(0, 1), estimate_of(1, 0)}) {
    const Decision decision = history_.decide(estimate);
    EXPECT_EQ(decision.target, Target::local);
    EXPECT_EQ(decision.state, State::unknown);
  }
}

TEST_F(Histories, TheModelDecidesAtFirst) {
  EXPECT_EQ(history_.decide(estimate_of(1, 0.2)).target, Target::remote);
  Estimate other = estimate_of(1, 2);
  other.shape = 8;
  EXPECT_EQ(history_.decide(other).target, Target::local);
  other = estimate_of(1, 0.8);  // within the error
  other.shape = 9;
  EXPECT_EQ(history_.decide(other).target, Target::local);
}

// The gain is beyond the error of both, but if both were wrong by twice that, the first call would
// lose half a second.
TEST_F(Histories, AMistakeMustFitIntoTheBudget) {
  const Estimate estimate = estimate_of(1, 0.6);
  EXPECT_EQ(history_.decide(estimate).target, Target::local);
  spend(60);
  Estimate other = estimate;
  other.shape = 8;
  EXPECT_EQ(history_.decide(other).target, Target::remote);
}

TEST_F(Histories, AnOverdrawnBudgetLeavesCallsWhereTheyAre) {
  budget_.lose(1);
  EXPECT_EQ(history_.decide(estimate_of(1, 0.01)).target, Target::local);
  spend(1000);
  Estimate other = estimate_of(1, 0.01);
  other.shape = 8;
  EXPECT_EQ(history_.decide(other).target, Target::remote);
}

// Calls of less than 5 ms leave at the first call or never, however much they would gain later.
TEST_F(Histories, ShortCallsNeverStartToLeave) {
  Tally tally = run({1e-3, 1e-4}, estimate_of(1e-3, 2e-3), 10);
  EXPECT_EQ(tally.remote, 0);
  spend(100);
  tally = run({1e-3, 1e-4}, estimate_of(1e-3, 1e-4), 400);
  EXPECT_EQ(tally.remote + tally.trials, 0);
  EXPECT_EQ(history_.decide(estimate_of(1e-3, 1e-4)).state, State::settled);
}

// So they leave if that is expected to gain at all, also within the error.
TEST_F(Histories, ShortCallsLeaveAtOnceOrNever) {
  EXPECT_EQ(run({1e-3, 0.5e-3}, estimate_of(1e-3, 0.9e-3), 400).remote, 0);
  Estimate other = estimate_of(1e-3, 0.4e-3);  // 1.3^4 = 2.86
  other.shape = 9;
  EXPECT_EQ(run({1e-3, 0.4e-3}, other, 400).remote, 0);
  other = estimate_of(1e-3, 0.3e-3);
  other.shape = 11;
  EXPECT_EQ(run({1e-3, 0.3e-3}, other, 400).remote, 400);
}

TEST_F(Histories, CallsThatLoseComeBackOnce) {
  const Tally tally = run({1e-3, 3e-3}, estimate_of(1e-3, 0.3e-3), 400);
  EXPECT_LT(tally.remote, 6);
  EXPECT_EQ(tally.changes, 1);
  EXPECT_LT(tally.lost_s, 12e-3);
  EXPECT_EQ(history_.decide(estimate_of(1e-3, 0.3e-3)).state, State::settled);
}

// The remote time is measured, the local one was never: it may be shorter by twice its error. The
// program is not slowed down by more than the budget before this is found out.
TEST_F(Histories, AnUnmeasuredLocalTimeIsNotTrustedForEver) {
  Estimate estimate = estimate_of(4e-3, 0.5e-3);
  estimate.local_error = 2;
  const Tally tally = run({1.5e-3, 2e-3}, estimate, 2000);
  EXPECT_EQ(tally.changes, 1);
  EXPECT_LT(tally.lost_s, LossBudget::kStartS + 2 * LossBudget::kShare * budget_.spent_s());
}

// A trial measures the accelerator; the shape changes sides once, for good.
TEST_F(Histories, ATrialFindsAGainThatTheModelDoubted) {
  Estimate estimate = estimate_of(0.02, 0.015, 2);
  Tally tally = run({0.02, 0.008}, estimate, 20);
  EXPECT_EQ(tally.remote, 0);  // there is no time for a trial yet
  spend(20);
  tally = run({0.02, 0.008}, estimate, 100);
  EXPECT_GT(tally.trials, 0);
  EXPECT_LE(tally.trials, 2);
  EXPECT_GT(tally.remote, 90);
  EXPECT_EQ(tally.changes, 1);
}

TEST_F(Histories, ATrialThatFindsNoGainChangesNothing) {
  spend(5);
  const Tally tally = run({0.02, 0.03}, estimate_of(0.02, 0.015, 2), 400);
  EXPECT_GT(tally.trials, 0);
  EXPECT_LE(tally.trials, 2);
  EXPECT_EQ(tally.remote, 0);
}

// Programs that compare equal calls make them one after the other.
TEST_F(Histories, NothingIsTriedAtTheFirstCallsOfAShape) {
  spend(100);
  EXPECT_EQ(run({0.02, 0.001}, estimate_of(0.02, 0.019), 3).trials, 0);
}

// Only the later calls gain, because their operands are on the device then.
TEST_F(Histories, OperandsAreBroughtIfThatFitsIntoTheBudget) {
  Estimate estimate = estimate_of(0.02, 0.06, 1.1);
  estimate.remote_again_s = 0.004;
  Tally tally = run({0.02, 0.004, 0.06}, estimate, 20);
  EXPECT_EQ(tally.remote, 0);
  spend(10);
  tally = run({0.02, 0.004, 0.06}, estimate, 100);
  EXPECT_GT(tally.remote, 90);
}

// A loop of 20 ms pays 10 ms of price after five calls, if it has made enough of them.
TEST_F(Histories, APriceAboveTheBudgetIsPaidByALongLoop) {
  Estimate estimate = estimate_of(0.02, 0.025, 1.1);
  estimate.remote_again_s = 0.01;
  Tally tally;
  for (int i = 0; i < 40; ++i) {
    const Tally one = run({0.02, 0.01, 0.025}, estimate, 1);
    if (one.remote > 0) estimate.remote_s = 0.01;  // the operands are there
    tally.remote += one.remote;
    tally.changes += one.changes;
    tally.trials += one.trials;
  }
  EXPECT_GE(tally.remote, 20);
  EXPECT_LE(tally.remote, 32);  // eight calls at least were here
  EXPECT_EQ(tally.changes, 1);
  EXPECT_EQ(tally.trials, 0);
  // Later calls of the shape have paid it back, so the next loop can pay its price, too.
  EXPECT_LT(budget_.lost_s(), 1e-12);
}

TEST_F(Histories, AHighPriceIsNotPaid) {
  Estimate estimate = estimate_of(0.02, 0.2, 1.1);
  estimate.remote_again_s = 0.01;
  EXPECT_EQ(run({0.02, 0.01, 0.2}, estimate, 200).remote, 0);
}

// An error of 3 says little about the price.
TEST_F(Histories, AnUncertainPriceIsNotPaid) {
  Estimate estimate = estimate_of(0.02, 0.005, 3);
  EXPECT_EQ(run({0.02, 0.05}, estimate, 40).remote, 0);
}

// Each call brings most of its operands. Their measured time is that of the next call, too.
TEST_F(Histories, CallsWithNewOperandsAreExpectedToTakeTheSameTime) {
  spend(10);
  Estimate estimate = estimate_of(0.04, 0.02, 1.1);
  estimate.brings = true;
  for (std::uint64_t i = 0; i < 20; ++i) {
    estimate.operands = {{{10 + i, 8e6}}};
    if (i == 5) estimate.remote_s = 0.06;  // a prediction does not replace measurements
    ASSERT_EQ(history_.decide(estimate).target, Target::remote) << i;
    history_.observe(estimate.shape, Target::remote, 0.02, 0);
  }
}

TEST_F(Histories, OperandsRepeatByTheirBytes) {
  Estimate estimate = estimate_of(0.02, 0.01);
  estimate.operands = {{{10, 6e6}, {11, 2e6}}};
  EXPECT_EQ(history_.repeated_part(estimate.shape, estimate.operands), 0);
  (void)history_.decide(estimate);
  EXPECT_EQ(history_.repeated_part(estimate.shape, estimate.operands), 1);
  EXPECT_EQ(history_.repeated_part(estimate.shape, {{{10, 6e6}, {12, 2e6}}}), 0.75);
  EXPECT_EQ(history_.repeated_part(estimate.shape, {{{0, 6e6}, {11, 2e6}}}), 0.25);  // replaced
  EXPECT_EQ(history_.repeated_part(estimate.shape + 2, estimate.operands), 0);
}

// Other shapes gain from memory that was used, so no loop is needed.
TEST_F(Histories, MemoryIsUsedFromTheFirstCallOn) {
  Estimate estimate = estimate_of(0.02, 0.06, 1.1);
  estimate.remote_warm_s = 0.004;
  EXPECT_EQ(history_.decide(estimate).preparation, Preparation::memory);
}

// The price is above the budget, so they are brought beside the calls, twice at most.
TEST_F(Histories, OperandsAreBroughtBesideTheCallsIfThatDoesNotFit) {
  Estimate estimate = estimate_of(0.02, 0.06, 1.1);
  estimate.remote_again_s = 0.004;
  std::vector<int> prepared;
  for (int i = 0; i < 40; ++i) {
    const Decision decision = history_.decide(estimate);
    ASSERT_EQ(decision.target, Target::local);
    if (decision.preparation != Preparation::none) prepared.push_back(i);
    EXPECT_NE(decision.preparation, Preparation::memory);
    history_.observe(estimate.shape, Target::local, 0.02, 0);
  }
  EXPECT_EQ(prepared, (std::vector<int>{4, 5}));  // a loop begins at the fifth call
  estimate.remote_s = 0.004;                      // they are there
  EXPECT_EQ(history_.decide(estimate).target, Target::remote);
}

TEST_F(Histories, MemoryIsUsedBesideTheCallsWhereOperandsAreNewEachTime) {
  Estimate estimate = estimate_of(0.02, 0.06, 1.1);
  estimate.remote_warm_s = 0.004;
  estimate.remote_again_s = 0.001;
  unsigned prepared = 0;
  for (int i = 0; i < 40; ++i) {
    estimate.operands = {{{static_cast<std::uint64_t>(i) + 10, 8e6}}};
    const Decision decision = history_.decide(estimate);
    EXPECT_NE(decision.preparation, Preparation::operands);
    prepared += decision.preparation == Preparation::memory ? 1 : 0;
    history_.observe(estimate.shape, Target::local, 0.02, 0);
  }
  EXPECT_EQ(prepared, 2u);
}

TEST_F(Histories, ShortCallsAreNotPrepared) {
  Estimate estimate = estimate_of(4e-3, 0.06, 1.1);
  estimate.remote_again_s = 1e-4;
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(history_.decide(estimate).preparation, Preparation::none);
    history_.observe(estimate.shape, Target::local, 4e-3, 0);
  }
}

// A mistake of twice the error would make the local time shorter than the processor allows.
TEST_F(Histories, TheLeastLocalTimeBoundsAMistake) {
  Estimate estimate = estimate_of(0.5, 0.2, 1.5);
  EXPECT_EQ(history_.expect(estimate).target, Target::local);
  estimate.local_least_s = 0.46;
  EXPECT_EQ(history_.expect(estimate).target, Target::remote);
}

TEST_F(Histories, ButNotWhereTheyAreNewEachTime) {
  spend(10);
  Estimate estimate = estimate_of(0.02, 0.06, 1.1);
  estimate.remote_again_s = 0.004;
  for (int i = 0; i < 200; ++i) {
    estimate.operands = {{{static_cast<std::uint64_t>(i) + 10, 8e6}}};
    ASSERT_EQ(history_.decide(estimate).target, Target::local);
    history_.observe(estimate.shape, Target::local, 0.02, 0);
  }
}

// A call is short by its measured time, also where the prediction took it for a long one.
TEST_F(Histories, ShortCallsAreKnownByTheirTime) {
  spend(100);
  Estimate estimate = estimate_of(8e-3, 7e-3, 1.7);
  EXPECT_EQ(run({4e-3, 1e-4}, estimate, 2).remote, 0);
  estimate.remote_s = estimate.remote_again_s = 1e-4;
  const Tally tally = run({4e-3, 1e-4}, estimate, 100);
  EXPECT_EQ(tally.remote + tally.trials, 0);
}

// Only short calls that stay here for good need no estimate; now and then, they get one.
TEST_F(Histories, ShortCallsThatStayNeedNoEstimate) {
  const Estimate estimate = estimate_of(1e-4, 1e-3);
  EXPECT_FALSE(history_.staying(estimate.shape).has_value());
  run({1e-4, 1e-3}, estimate, 4);
  int estimates = 0;
  for (int i = 0; i < 320; ++i) {
    const auto staying = history_.staying(estimate.shape);
    if (!staying) {
      ++estimates;
      (void)history_.decide(estimate);
      continue;
    }
    EXPECT_EQ(staying->target, Target::local);
    EXPECT_EQ(staying->state, State::settled);
    EXPECT_GT(staying->local_s, 0);
  }
  EXPECT_EQ(estimates, 10);
  EXPECT_FALSE(history_.staying(estimate.shape + 1).has_value());
}

TEST_F(Histories, OtherCallsNeedAnEstimateEachTime) {
  spend(10);
  run({0.02, 0.001}, estimate_of(0.02, 0.001), 10);  // these leave
  EXPECT_FALSE(history_.staying(7).has_value());
  Estimate longer = estimate_of(0.02, 0.1);  // these do not, but may yet
  longer.shape = 9;
  run({0.02, 0.1}, longer, 10);
  EXPECT_FALSE(history_.staying(9).has_value());
  Estimate unknown = estimate_of(1e-4, 0);  // no accelerator is known yet
  unknown.shape = 11;
  run({1e-4, 0}, unknown, 10);
  EXPECT_FALSE(history_.staying(11).has_value());
}

// The program continues with a new matrix: its operands must be brought again, at a price that the
// loop pays back.
TEST_F(Histories, ANewMatrixDoesNotEndALongLoop) {
  spend(2);
  Estimate estimate = estimate_of(0.02, 0.005, 1.1);
  EXPECT_EQ(run({0.02, 0.005}, estimate, 100).remote, 100);
  budget_.lose(0.02);  // by another shape: nothing is left
  estimate.remote_s = 0.025;
  estimate.brings = true;
  EXPECT_EQ(history_.decide(estimate).target, Target::remote);
}

// Calls that take a quarter of the local time in the middle lose at times.
TEST_F(Histories, ADisturbanceDoesNotEndAProvenLoop) {
  const Estimate estimate = estimate_of(0.02, 0.005, 1.1);
  EXPECT_EQ(run({0.02, 0.005}, estimate, 10).remote, 10);
  EXPECT_EQ(run({0.02, 0.1}, estimate, 1).remote, 1);
  EXPECT_LT(budget_.left_s(), 0);
  EXPECT_EQ(run({0.02, 0.005}, estimate, 10).remote, 10);
}

// A device that is throttled, or shared. The second change leads back, and is the last one.
TEST_F(Histories, AnAcceleratorThatBecomesSlowIsLeft) {
  spend(20);
  const Estimate estimate = estimate_of(0.02, 0.015, 1.6);
  Tally tally = run({0.02, 0.008}, estimate, 100);
  ASSERT_GT(tally.remote, 50);
  tally = run({0.02, 0.05}, estimate, 100);
  EXPECT_LT(tally.remote, 8);
  EXPECT_EQ(tally.changes, 1);
  tally = run({0.02, 0.001}, estimate, 400);
  EXPECT_EQ(tally.remote, 0);
}

TEST_F(Histories, OneSlowCallIsForgiven) {
  const Estimate estimate = estimate_of(1e-3, 0.2e-3);
  run({1e-3, 0.2e-3}, estimate, 50);
  spend(10);
  run({1e-3, 30e-3}, estimate, 1);
  EXPECT_EQ(run({1e-3, 0.2e-3}, estimate, 50).remote, 50);
}

// A busy accelerator is a reason to stay, but no change of sides.
TEST_F(Histories, WaitingForOthersCountsWhileItLasts) {
  Estimate estimate = estimate_of(0.01, 0.002);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(history_.decide(estimate).target, Target::remote);
    history_.observe(estimate.shape, Target::remote, 0.002, 0);
  }
  estimate.waiting_s = 0.5;
  EXPECT_EQ(history_.decide(estimate).target, Target::local);
  history_.observe(estimate.shape, Target::local, 0.01, 0);
  estimate.waiting_s = 0;
  EXPECT_EQ(history_.decide(estimate).target, Target::remote);
}

TEST_F(Histories, CallsAreJudgedByTheOtherSide) {
  const Estimate estimate = estimate_of(0.01, 0.002);
  ASSERT_EQ(history_.decide(estimate).target, Target::remote);
  Observation observation = history_.observe(estimate.shape, Target::remote, 0.03, 0);
  EXPECT_TRUE(observation.judged);
  EXPECT_TRUE(observation.mispredicted);
  EXPECT_NEAR(observation.lost_s, 0.02, 1e-6);
  EXPECT_NEAR(budget_.lost_s(), 0.02, 1e-6);
  spend(100);
  ASSERT_EQ(history_.decide(estimate).target, Target::remote);
  observation =
      history_.observe(estimate.shape, Target::local, 0.01, 0);  // the daemon died: no judgement
  EXPECT_FALSE(observation.judged);
}

TEST_F(Histories, ExpectChangesNothing) {
  const Estimate estimate = estimate_of(1, 0.2);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(history_.expect(estimate).target, Target::remote);
  EXPECT_FALSE(history_.observe(estimate.shape, Target::remote, 1, 0).judged);
}

TEST_F(Histories, ManyShapesPushEachOtherOut) {
  constexpr std::uint64_t kMany = 10 * History::kSets * History::kWays;
  for (std::uint64_t shape = 1; shape < kMany; ++shape) {
    Estimate estimate = estimate_of(1, 0.2);
    estimate.shape = shape;
    ASSERT_EQ(history_.decide(estimate).target, Target::remote);
    ASSERT_TRUE(history_.observe(shape, Target::remote, 0.2, 0).judged);
  }
  EXPECT_FALSE(history_.observe(1, Target::remote, 0.2, 0).judged);
}

}  // namespace
}  // namespace ob::policy
