#include "policy/history.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "support/random.hpp"

namespace ob::policy {
namespace {

// A program that repeats the same call. Only this struct knows the real times.
struct World {
  double local_s = 0;
  double remote_first_s = 0;  ///< the first remote call in a row
  double remote_s = 0;        ///< the next remote calls
  double noise = 0;           ///< relative, uniform
};

struct Tally {
  double spent_s = 0;
  double best_s = 0;  ///< always on the better side
  int remote = 0;
  int tried = 0;
  int last_remote = 0;  ///< in the last quarter
};

class Program {
 public:
  explicit Program(std::uint64_t seed) : numbers_(seed) {}

  Tally run(History& history, const World& world, Estimate estimate, int calls) {
    Tally tally;
    for (int i = 0; i < calls; ++i) {
      const Decision decision = history.decide(estimate);
      const bool remote = decision.target == Target::remote;
      const double ideal = !remote ? world.local_s : warm_ ? world.remote_s : world.remote_first_s;
      warm_ = remote;
      const double seconds = ideal * (1 + world.noise * (2 * unit_(numbers_) - 1));
      history.observe(estimate.shape, remote ? Target::remote : Target::local, seconds, 0);
      tally.spent_s += seconds;
      tally.best_s += std::min(world.local_s, world.remote_s);
      tally.remote += remote ? 1 : 0;
      tally.last_remote += remote && i >= calls - calls / 4 ? 1 : 0;
      tally.tried += decision.tried ? 1 : 0;
    }
    return tally;
  }

 private:
  std::mt19937_64 numbers_;
  std::uniform_real_distribution<double> unit_{0, 1};
  bool warm_ = false;
};

Estimate estimate_of(double local_s, double remote_s) {
  Estimate estimate;
  estimate.shape = 7;
  estimate.operands = 1;
  estimate.local_s = local_s;
  estimate.remote_s = estimate.remote_again_s = remote_s;
  estimate.margin = 1.05;
  return estimate;
}

class Histories : public testing::Test {
 protected:
  std::uint64_t seed_ = test::test_seed();
  Program program_{seed_};
  History history_;
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

TEST_F(Histories, AnUnknownLocalTimeIsLearnt) {
  EXPECT_EQ(history_.decide(estimate_of(0, 1)).target, Target::learn_local);
}

TEST_F(Histories, NobodyThereMeansLocal) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(history_.decide(estimate_of(1, 0)).target, Target::local);
}

TEST_F(Histories, TheModelDecidesAtFirst) {
  EXPECT_EQ(history_.decide(estimate_of(1, 0.5)).target, Target::remote);
  Estimate other = estimate_of(1, 2);
  other.shape = 8;
  EXPECT_EQ(history_.decide(other).target, Target::local);
  other = estimate_of(1, 0.99);  // within the margin
  other.shape = 9;
  EXPECT_EQ(history_.decide(other).target, Target::local);
}

// The model may be wrong by a factor of two in both directions, whatever the real times are. The
// time lost against the better side stays small. The first remote call takes up to three times as
// long.
TEST_F(Histories, AWrongModelCostsLittle) {
  std::mt19937_64 numbers(seed_);
  std::uniform_real_distribution<double> power(-1, 1);
  for (int i = 0; i < 500; ++i) {
    History history;
    World world;
    world.local_s = 0.01;
    world.remote_s = world.local_s * std::exp2(2 * power(numbers));
    world.remote_first_s = world.remote_s * (2 + power(numbers));
    world.noise = 0.02;
    const Estimate estimate = estimate_of(world.local_s * std::exp2(0.3 * power(numbers)),
                                          world.remote_s * std::exp2(power(numbers)));
    const Tally settling = program_.run(history, world, estimate, 100);
    EXPECT_LT(settling.spent_s, 1.4 * settling.best_s)
        << "here " << world.local_s << " there " << world.remote_s << " estimate "
        << estimate.local_s << ", " << estimate.remote_s;
    const Tally settled = program_.run(history, world, estimate, 1000);
    EXPECT_LT(settled.spent_s, 1.06 * settled.best_s)
        << "here " << world.local_s << " there " << world.remote_s << " estimate "
        << estimate.local_s << ", " << estimate.remote_s;
  }
}

TEST_F(Histories, TrialsAreRareWhereTheOtherSideIsMuchSlower) {
  const Tally tally = program_.run(history_, {0.01, 0.3, 0.1, 0.02}, estimate_of(0.01, 0.1), 5000);
  EXPECT_LT(tally.spent_s, 1.03 * tally.best_s + 0.5);
  EXPECT_LT(tally.remote, 30);
}

TEST_F(Histories, AMachineThatChangesIsNoticed) {
  const Estimate estimate = estimate_of(0.01, 0.005);
  Tally tally = program_.run(history_, {0.01, 0.005, 0.005, 0.02}, estimate, 200);
  EXPECT_GT(tally.last_remote, 40);
  tally = program_.run(history_, {0.01, 0.02, 0.02, 0.02}, estimate, 400);  // a slow neighbour
  EXPECT_LT(tally.last_remote, 20);
  tally = program_.run(history_, {0.01, 0.005, 0.005, 0.02}, estimate, 2000);  // it has gone
  EXPECT_GT(tally.last_remote, 400);
}

// Only the second call gains, because its operands are on the device then. The model includes this.
// A rule that looks at single calls would never send the first one.
TEST_F(Histories, OperandsAreBroughtWhereCallsComeBackToThem) {
  Estimate estimate = estimate_of(0.01, 0.03);
  estimate.remote_again_s = 0.002;
  const Tally tally = program_.run(history_, {0.01, 0.03, 0.002, 0.02}, estimate, 100);
  EXPECT_GT(tally.remote, 80);
}

TEST_F(Histories, ButNotWhereTheyAreNewEachTime) {
  Estimate estimate = estimate_of(0.01, 0.03);
  estimate.remote_again_s = 0.002;
  int remote = 0;
  double spent_s = 0;
  for (int i = 0; i < 200; ++i) {
    estimate.operands = static_cast<std::uint64_t>(i) + 10;
    const bool out = history_.decide(estimate).target == Target::remote;
    const double seconds = out ? 0.03 : 0.01;
    history_.observe(estimate.shape, out ? Target::remote : Target::local, seconds, 0);
    remote += out ? 1 : 0;
    spent_s += seconds;
  }
  EXPECT_LT(remote, 10);
  EXPECT_LT(spent_s, 200 * 0.01 * 1.12);
}

// A factorization by blocks: every product is smaller than the one before. The model is wrong about
// all of them, in one direction or the other. The result of a trial corrects it.
TEST_F(Histories, ShapesThatNeverComeBackAreTriedTogether) {
  for (const bool there_is_better : {true, false}) {
    History history;
    double believed_s = there_is_better ? 0.02 : 0.005;
    const double true_s = there_is_better ? 0.005 : 0.02;
    double spent_s = 0;
    int calls = 0;
    for (std::uint64_t shape = 1; shape <= 400; ++shape, ++calls) {
      Estimate estimate = estimate_of(0.01, believed_s);
      estimate.shape = estimate.operands = shape;
      const bool out = history.decide(estimate).target == Target::remote;
      const double seconds = out ? true_s : 0.01;
      if (out) believed_s = true_s;  // like a correction by routine
      history.observe(shape, out ? Target::remote : Target::local, seconds, 0);
      spent_s += seconds;
    }
    EXPECT_LT(spent_s, calls * (there_is_better ? 0.7 : 1.03) * 0.01) << there_is_better;
  }
}

// The device's own rate is a guess and predicts three times the local time. Half of the time spent
// so far may be used to check a guess.
TEST_F(Histories, AGuessIsLookedIntoSoon) {
  Estimate estimate = estimate_of(0.2, 0.6);
  estimate.guessed = true;
  const Tally tally = program_.run(history_, {0.2, 0.1, 0.05, 0.02}, estimate, 20);
  EXPECT_GT(tally.remote, 5);
  History certain;
  estimate.guessed = false;
  EXPECT_EQ(program_.run(certain, {0.2, 0.1, 0.05, 0.02}, estimate, 20).remote, 0);
}

// A daemon that is delayed at its first call: by a compiler, by pages that are touched.
TEST_F(Histories, AHiccupIsForgiven) {
  const Estimate estimate = estimate_of(0.0005, 0.0002);
  program_.run(history_, {0.0005, 0.1, 0.1, 0.02}, estimate, 2);
  const Tally tally = program_.run(history_, {0.0005, 0.0003, 0.0002, 0.02}, estimate, 600);
  EXPECT_GT(tally.remote, 400);
}

// A machine with other users: sleeping threads wake up late, so that the first remote calls of each
// series take long. The next ones are quick.
TEST_F(Histories, ThreadsThatWakeUpLateAreWaitedFor) {
  std::mt19937_64 numbers(seed_);
  std::uniform_int_distribution<int> late(1, 3);
  std::uniform_real_distribution<double> stall_s(2e-3, 9e-3);
  for (int i = 0; i < 200; ++i) {
    History history;
    const Estimate estimate = estimate_of(0.7e-3, 0.06e-3);
    int late_calls = 0;
    int remote = 0;
    double spent_s = 0;
    for (int call = 0; call < 400; ++call) {
      const bool out = history.decide(estimate).target == Target::remote;
      if (!out) late_calls = late(numbers);
      double seconds = out ? 0.06e-3 : 0.7e-3;
      if (out && late_calls-- > 0) seconds = stall_s(numbers);
      history.observe(estimate.shape, out ? Target::remote : Target::local, seconds, 0);
      spent_s += seconds;
      remote += out ? 1 : 0;
    }
    EXPECT_GT(remote, 300);
    EXPECT_LT(spent_s, 0.5 * 400 * 0.7e-3);
  }
}

// A routine that was fast for a long time and is delayed once soon counts as fast again.
TEST_F(Histories, ABurstIsForgotten) {
  const Estimate estimate = estimate_of(0.7e-3, 0.06e-3);
  const World quick{0.7e-3, 0.06e-3, 0.06e-3, 0.02};
  program_.run(history_, quick, estimate, 300);
  program_.run(history_, {0.7e-3, 8e-3, 8e-3, 0.02}, estimate, 8);
  const Tally tally = program_.run(history_, quick, estimate, 200);
  EXPECT_GT(tally.remote, 150);
}

// A daemon that stays slow is not tried forever.
TEST_F(Histories, ADaemonThatStaysSlowIsLeftAlone) {
  const Estimate estimate = estimate_of(0.0005, 0.0002);
  const Tally tally = program_.run(history_, {0.0005, 0.1, 0.1, 0.02}, estimate, 20000);
  EXPECT_LT(tally.remote, 40);
  EXPECT_LT(tally.spent_s, 20000 * 0.0005 * 1.5);
}

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
  const Estimate estimate = estimate_of(0.01, 0.005);
  ASSERT_EQ(history_.decide(estimate).target, Target::remote);
  Observation observation = history_.observe(estimate.shape, Target::remote, 0.03, 0);
  EXPECT_TRUE(observation.judged);
  EXPECT_TRUE(observation.mispredicted);
  EXPECT_NEAR(observation.lost_s, 0.02, 1e-6);
  ASSERT_EQ(history_.decide(estimate).target, Target::remote);
  observation =
      history_.observe(estimate.shape, Target::local, 0.01, 0);  // the daemon died: no judgement
  EXPECT_FALSE(observation.judged);
}

TEST_F(Histories, ExpectChangesNothing) {
  const Estimate estimate = estimate_of(1, 0.5);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(history_.expect(estimate).target, Target::remote);
  EXPECT_FALSE(history_.observe(estimate.shape, Target::remote, 1, 0).judged);
}

TEST_F(Histories, ManyShapesPushEachOtherOut) {
  for (std::uint64_t shape = 1; shape < 10 * History::kShapes; ++shape) {
    Estimate estimate = estimate_of(1, 0.5);
    estimate.shape = shape;
    const Decision decision = history_.decide(estimate);
    EXPECT_TRUE(decision.target == Target::remote || decision.tried);
    EXPECT_TRUE(history_.observe(shape, decision.target, 0.5, 0).judged);
  }
  EXPECT_FALSE(history_.observe(1, Target::remote, 0.5, 0).judged);
}

}  // namespace
}  // namespace ob::policy
