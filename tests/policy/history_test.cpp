#include "policy/history.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "support/random.hpp"

namespace ob::policy {
namespace {

// A program that makes the same call again and again; what it really takes is known here only.
struct World {
  double here_s = 0;
  double there_first_s = 0;  ///< the first call over there in a row
  double there_s = 0;        ///< the next ones
  double noise = 0;          ///< relative, uniform
};

struct Tally {
  double spent_s = 0;
  double best_s = 0;  ///< of the better side, for ever
  int remote = 0;
  int tried = 0;
  int last_remote = 0;  ///< of the last quarter
};

class Program {
 public:
  explicit Program(std::uint64_t seed) : numbers_(seed) {}

  Tally run(History& history, const World& world, Forecast forecast, int calls) {
    Tally tally;
    for (int i = 0; i < calls; ++i) {
      const Verdict verdict = history.decide(forecast);
      const bool remote = verdict.choice == Choice::remote;
      const double ideal = !remote ? world.here_s : warm_ ? world.there_s : world.there_first_s;
      warm_ = remote;
      const double seconds = ideal * (1 + world.noise * (2 * unit_(numbers_) - 1));
      history.ran(forecast.shape, remote ? Choice::remote : Choice::local, seconds, 0);
      tally.spent_s += seconds;
      tally.best_s += std::min(world.here_s, world.there_s);
      tally.remote += remote ? 1 : 0;
      tally.last_remote += remote && i >= calls - calls / 4 ? 1 : 0;
      tally.tried += verdict.tried ? 1 : 0;
    }
    return tally;
  }

 private:
  std::mt19937_64 numbers_;
  std::uniform_real_distribution<double> unit_{0, 1};
  bool warm_ = false;
};

Forecast forecast_of(double here_s, double there_s) {
  Forecast forecast;
  forecast.shape = 7;
  forecast.operands = 1;
  forecast.here_s = here_s;
  forecast.there_s = forecast.there_again_s = there_s;
  forecast.margin = 1.05;
  return forecast;
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
  EXPECT_EQ(samples.median(), 2);  // the first is often slow
  samples.add(4);
  EXPECT_EQ(samples.median(), 4);
  for (int i = 0; i < 7; ++i) samples.add(16);
  EXPECT_EQ(samples.median(), 16);
  samples.add(1000);
  EXPECT_EQ(samples.median(), 16);
}

TEST_F(Histories, AnUnknownLocalTimeIsLearnt) {
  EXPECT_EQ(history_.decide(forecast_of(0, 1)).choice, Choice::learn_local);
}

TEST_F(Histories, NobodyThereMeansLocal) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(history_.decide(forecast_of(1, 0)).choice, Choice::local);
}

TEST_F(Histories, TheModelDecidesAtFirst) {
  EXPECT_EQ(history_.decide(forecast_of(1, 0.5)).choice, Choice::remote);
  Forecast other = forecast_of(1, 2);
  other.shape = 8;
  EXPECT_EQ(history_.decide(other).choice, Choice::local);
  other = forecast_of(1, 0.99);  // within the margin
  other.shape = 9;
  EXPECT_EQ(history_.decide(other).choice, Choice::local);
}

// Whatever the model says, within a factor of two either way, and whatever is true: the time that
// is lost to the better side stays small. The first call over there takes up to three times as
// long.
TEST_F(Histories, AWrongModelCostsLittle) {
  std::mt19937_64 numbers(seed_);
  std::uniform_real_distribution<double> power(-1, 1);
  for (int i = 0; i < 500; ++i) {
    History history;
    World world;
    world.here_s = 0.01;
    world.there_s = world.here_s * std::exp2(2 * power(numbers));
    world.there_first_s = world.there_s * (2 + power(numbers));
    world.noise = 0.02;
    const Forecast forecast = forecast_of(world.here_s * std::exp2(0.3 * power(numbers)),
                                          world.there_s * std::exp2(power(numbers)));
    const Tally settling = program_.run(history, world, forecast, 100);
    EXPECT_LT(settling.spent_s, 1.4 * settling.best_s)
        << "here " << world.here_s << " there " << world.there_s << " forecast " << forecast.here_s
        << ", " << forecast.there_s;
    const Tally settled = program_.run(history, world, forecast, 1000);
    EXPECT_LT(settled.spent_s, 1.06 * settled.best_s)
        << "here " << world.here_s << " there " << world.there_s << " forecast " << forecast.here_s
        << ", " << forecast.there_s;
  }
}

TEST_F(Histories, TrialsAreRareWhereTheOtherSideIsMuchSlower) {
  const Tally tally = program_.run(history_, {0.01, 0.3, 0.1, 0.02}, forecast_of(0.01, 0.1), 5000);
  EXPECT_LT(tally.spent_s, 1.03 * tally.best_s + 0.5);
  EXPECT_LT(tally.remote, 30);
}

TEST_F(Histories, AMachineThatChangesIsNoticed) {
  const Forecast forecast = forecast_of(0.01, 0.005);
  Tally tally = program_.run(history_, {0.01, 0.005, 0.005, 0.02}, forecast, 200);
  EXPECT_GT(tally.last_remote, 40);
  tally = program_.run(history_, {0.01, 0.02, 0.02, 0.02}, forecast, 400);  // a slow neighbour
  EXPECT_LT(tally.last_remote, 20);
  tally = program_.run(history_, {0.01, 0.005, 0.005, 0.02}, forecast, 2000);  // is gone
  EXPECT_GT(tally.last_remote, 400);
}

// Only the second call gains, since its operands are there then. The model knows; a rule that looks
// at one call at a time would never send the first.
TEST_F(Histories, OperandsAreBroughtWhereCallsComeBackToThem) {
  Forecast forecast = forecast_of(0.01, 0.03);
  forecast.there_again_s = 0.002;
  const Tally tally = program_.run(history_, {0.01, 0.03, 0.002, 0.02}, forecast, 100);
  EXPECT_GT(tally.remote, 80);
}

TEST_F(Histories, ButNotWhereTheyAreNewEachTime) {
  Forecast forecast = forecast_of(0.01, 0.03);
  forecast.there_again_s = 0.002;
  int remote = 0;
  double spent_s = 0;
  for (int i = 0; i < 200; ++i) {
    forecast.operands = static_cast<std::uint64_t>(i) + 10;
    const bool out = history_.decide(forecast).choice == Choice::remote;
    const double seconds = out ? 0.03 : 0.01;
    history_.ran(forecast.shape, out ? Choice::remote : Choice::local, seconds, 0);
    remote += out ? 1 : 0;
    spent_s += seconds;
  }
  EXPECT_LT(remote, 10);
  EXPECT_LT(spent_s, 200 * 0.01 * 1.12);
}

// A factorisation by blocks: every product is smaller than the one before. The model is wrong about
// all of them, one way or the other; what it is told of a trial puts it right.
TEST_F(Histories, ShapesThatNeverComeBackAreTriedTogether) {
  for (const bool there_is_better : {true, false}) {
    History history;
    double believed_s = there_is_better ? 0.02 : 0.005;
    const double true_s = there_is_better ? 0.005 : 0.02;
    double spent_s = 0;
    int calls = 0;
    for (std::uint64_t shape = 1; shape <= 400; ++shape, ++calls) {
      Forecast forecast = forecast_of(0.01, believed_s);
      forecast.shape = forecast.operands = shape;
      const bool out = history.decide(forecast).choice == Choice::remote;
      const double seconds = out ? true_s : 0.01;
      if (out) believed_s = true_s;  // as a correction by routine does
      history.ran(shape, out ? Choice::remote : Choice::local, seconds, 0);
      spent_s += seconds;
    }
    EXPECT_LT(spent_s, calls * (there_is_better ? 0.7 : 1.03) * 0.01) << there_is_better;
  }
}

// The device's own figure says three times slower, and is a guess: half of what was spent may find
// out.
TEST_F(Histories, AGuessIsLookedIntoSoon) {
  Forecast forecast = forecast_of(0.2, 0.6);
  forecast.guessed = true;
  const Tally tally = program_.run(history_, {0.2, 0.1, 0.05, 0.02}, forecast, 20);
  EXPECT_GT(tally.remote, 5);
  History certain;
  forecast.guessed = false;
  EXPECT_EQ(program_.run(certain, {0.2, 0.1, 0.05, 0.02}, forecast, 20).remote, 0);
}

// A daemon that is held up when it is met first: by a compiler, by pages that are touched.
TEST_F(Histories, AHiccupIsForgiven) {
  const Forecast forecast = forecast_of(0.0005, 0.0002);
  program_.run(history_, {0.0005, 0.1, 0.1, 0.02}, forecast, 2);
  const Tally tally = program_.run(history_, {0.0005, 0.0003, 0.0002, 0.02}, forecast, 600);
  EXPECT_GT(tally.remote, 400);
}

// A machine that others use, too: threads that slept wake up late, so that the first calls of each
// series take long, whichever they are. The ones after them are quick.
TEST_F(Histories, ThreadsThatWakeUpLateAreWaitedFor) {
  std::mt19937_64 numbers(seed_);
  std::uniform_int_distribution<int> late(1, 3);
  std::uniform_real_distribution<double> stall_s(2e-3, 9e-3);
  for (int i = 0; i < 200; ++i) {
    History history;
    const Forecast forecast = forecast_of(0.7e-3, 0.06e-3);
    int late_calls = 0;
    int remote = 0;
    double spent_s = 0;
    for (int call = 0; call < 400; ++call) {
      const bool out = history.decide(forecast).choice == Choice::remote;
      if (!out) late_calls = late(numbers);
      double seconds = out ? 0.06e-3 : 0.7e-3;
      if (out && late_calls-- > 0) seconds = stall_s(numbers);
      history.ran(forecast.shape, out ? Choice::remote : Choice::local, seconds, 0);
      spent_s += seconds;
      remote += out ? 1 : 0;
    }
    EXPECT_GT(remote, 300);
    EXPECT_LT(spent_s, 0.5 * 400 * 0.7e-3);
  }
}

// What was quick for long and is held up once is quick again soon.
TEST_F(Histories, ABurstIsForgotten) {
  const Forecast forecast = forecast_of(0.7e-3, 0.06e-3);
  const World quick{0.7e-3, 0.06e-3, 0.06e-3, 0.02};
  program_.run(history_, quick, forecast, 300);
  program_.run(history_, {0.7e-3, 8e-3, 8e-3, 0.02}, forecast, 8);
  const Tally tally = program_.run(history_, quick, forecast, 200);
  EXPECT_GT(tally.remote, 150);
}

// But not for ever.
TEST_F(Histories, ADaemonThatStaysSlowIsLeftAlone) {
  const Forecast forecast = forecast_of(0.0005, 0.0002);
  const Tally tally = program_.run(history_, {0.0005, 0.1, 0.1, 0.02}, forecast, 20000);
  EXPECT_LT(tally.remote, 40);
  EXPECT_LT(tally.spent_s, 20000 * 0.0005 * 1.5);
}

TEST_F(Histories, WaitingForOthersCountsWhileItLasts) {
  Forecast forecast = forecast_of(0.01, 0.002);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(history_.decide(forecast).choice, Choice::remote);
    history_.ran(forecast.shape, Choice::remote, 0.002, 0);
  }
  forecast.waiting_s = 0.5;
  EXPECT_EQ(history_.decide(forecast).choice, Choice::local);
  history_.ran(forecast.shape, Choice::local, 0.01, 0);
  forecast.waiting_s = 0;
  EXPECT_EQ(history_.decide(forecast).choice, Choice::remote);
}

TEST_F(Histories, OutcomesAreJudgedByTheOtherSide) {
  const Forecast forecast = forecast_of(0.01, 0.005);
  ASSERT_EQ(history_.decide(forecast).choice, Choice::remote);
  Outcome outcome = history_.ran(forecast.shape, Choice::remote, 0.03, 0);
  EXPECT_TRUE(outcome.judged);
  EXPECT_TRUE(outcome.mispredicted);
  EXPECT_NEAR(outcome.lost_s, 0.02, 1e-6);
  ASSERT_EQ(history_.decide(forecast).choice, Choice::remote);
  outcome = history_.ran(forecast.shape, Choice::local, 0.01, 0);  // the daemon died: no judgement
  EXPECT_FALSE(outcome.judged);
}

TEST_F(Histories, ExpectChangesNothing) {
  const Forecast forecast = forecast_of(1, 0.5);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(history_.expect(forecast).choice, Choice::remote);
  EXPECT_FALSE(history_.ran(forecast.shape, Choice::remote, 1, 0).judged);
}

TEST_F(Histories, ManyShapesPushEachOtherOut) {
  for (std::uint64_t shape = 1; shape < 10 * History::kShapes; ++shape) {
    Forecast forecast = forecast_of(1, 0.5);
    forecast.shape = shape;
    const Verdict verdict = history_.decide(forecast);
    EXPECT_TRUE(verdict.choice == Choice::remote || verdict.tried);
    EXPECT_TRUE(history_.ran(shape, verdict.choice, 0.5, 0).judged);
  }
  EXPECT_FALSE(history_.ran(1, Choice::remote, 0.5, 0).judged);
}

}  // namespace
}  // namespace ob::policy
