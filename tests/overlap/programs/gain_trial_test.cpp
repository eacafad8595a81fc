#include "overlap/programs/gain_trial.hpp"

#include <gtest/gtest.h>

#include <random>

namespace ob::overlap {
namespace {

constexpr std::uintptr_t kPlace = 0x1000;

/// Runs a loop whose iterations take `with` or `without` ns, with noise of a hundredth.
class Loop {
 public:
  Loop(std::int64_t with, std::int64_t without) : with_(with), without_(without) {}

  void run(GainTrial& trial, int iterations, std::uintptr_t place = kPlace) {
    std::uniform_int_distribution<std::int64_t> noise(0, without_ / 1000);
    for (int i = 0; i < iterations; ++i) {
      now_ += (trial.driving() ? with_ : without_) + noise(chance_);
      trial.arrive(place, now_);
    }
  }

 private:
  std::int64_t with_;
  std::int64_t without_;
  std::int64_t now_ = 1'000'000;
  std::mt19937 chance_{std::random_device{}()};
};

constexpr int kTrial = GainTrial::kFirstArrivals + 2 * GainTrial::kBlocks * GainTrial::kBlock;

TEST(GainTrial, KeepsADriverThatGains) {
  GainTrial trial;
  Loop(8'000'000, 10'000'000).run(trial, kTrial);
  EXPECT_TRUE(trial.decided());
  EXPECT_TRUE(trial.driving());
  EXPECT_NEAR(double(trial.with_ns()), 8e6, 1e5);
  EXPECT_NEAR(double(trial.without_ns()), 10e6, 1e5);
}

TEST(GainTrial, EndsADriverThatGainsNothing) {
  for (const std::int64_t with : {10'000'000, 11'000'000}) {
    GainTrial trial;
    Loop(with, 10'000'000).run(trial, kTrial);
    EXPECT_TRUE(trial.decided());
    EXPECT_FALSE(trial.driving());
  }
}

TEST(GainTrial, DecidesNothingBeforeItsEnd) {
  GainTrial trial;
  Loop(8'000'000, 10'000'000).run(trial, kTrial - 1);
  EXPECT_FALSE(trial.decided());
  EXPECT_EQ(trial.without_ns(), 0);
}

TEST(GainTrial, TriesAgainAndFollowsAChange) {
  GainTrial trial;
  Loop(11'000'000, 10'000'000).run(trial, kTrial);
  ASSERT_FALSE(trial.driving());
  Loop later(5'000'000, 10'000'000);
  later.run(trial, GainTrial::kAgain);
  EXPECT_FALSE(trial.decided());
  later.run(trial, kTrial);
  EXPECT_TRUE(trial.decided());
  EXPECT_TRUE(trial.driving());
}

TEST(GainTrial, TriesAgainSoonWhenIterationsTakeAnotherTime) {
  GainTrial trial;
  Loop(11'000'000, 10'000'000).run(trial, kTrial);
  ASSERT_FALSE(trial.driving());
  Loop later(12'000'000, 20'000'000);
  later.run(trial, ChangeWatch::kFirst - 1);
  EXPECT_TRUE(trial.decided());
  later.run(trial, 1 + kTrial);
  EXPECT_TRUE(trial.decided());
  EXPECT_TRUE(trial.driving());
  // The next change is found later.
  Loop(12'000'000, 8'000'000).run(trial, ChangeWatch::kFirst + 1);
  EXPECT_TRUE(trial.decided());
}

TEST(GainTrial, DrivesAgainWhenALoopEndsInItsTrial) {
  GainTrial trial;
  Loop loop(11'000'000, 10'000'000);
  loop.run(trial, GainTrial::kFirstArrivals + GainTrial::kBlock);
  ASSERT_FALSE(trial.driving());
  for (int i = 0; i <= GainTrial::kLost; ++i)
    loop.run(trial, 1, kPlace + 16 * std::uintptr_t(i + 1));
  EXPECT_TRUE(trial.driving());
  // The next loop completes its messages in two places.
  loop.run(trial, 1, kPlace);
  for (int i = 0; i < kTrial; ++i) {
    loop.run(trial, 1, kPlace);
    loop.run(trial, 1, kPlace + 8);
  }
  EXPECT_TRUE(trial.decided());
}

TEST(GainTrial, ADecisionEndsWithItsLoop) {
  GainTrial trial;
  Loop(11'000'000, 10'000'000).run(trial, kTrial);
  ASSERT_FALSE(trial.driving());
  Loop later(5'000'000, 10'000'000);
  later.run(trial, GainTrial::kLost + 1 + kTrial, kPlace + 8);
  EXPECT_TRUE(trial.decided());
  EXPECT_TRUE(trial.driving());
}

}  // namespace
}  // namespace ob::overlap
