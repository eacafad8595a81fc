#include "transport/detail/spin.hpp"

#include <gtest/gtest.h>

#include "base/machine.hpp"

namespace ob::transport::detail {
namespace {

constexpr std::chrono::microseconds kLongest{20};

/// Returns true if the wait polled without success.
bool polls_in_vain(Spin& spin) {
  int looks = 0;
  EXPECT_FALSE(spin.until(
      [&] {
        ++looks;
        return false;
      },
      1));
  return looks != 0;
}

TEST(Spin, NeverPollsIfToldSo) {
  Spin spin(std::chrono::nanoseconds(0));
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(polls_in_vain(spin));
}

TEST(Spin, GivesUpWhatDoesNotPayAndTriesAgainNowAndThen) {
  if (usable_cores() < 2) GTEST_SKIP() << "a single core is never polled on";
  Spin spin(kLongest);
  EXPECT_TRUE(polls_in_vain(spin));
  int polls = 0;
  for (int i = 0; i < 1000; ++i) polls += polls_in_vain(spin) ? 1 : 0;
  EXPECT_GT(polls, 5);
  EXPECT_LT(polls, 30);
}

TEST(Spin, ASuccessRestoresPolling) {
  if (usable_cores() < 2) GTEST_SKIP() << "a single core is never polled on";
  Spin spin(kLongest);
  for (int i = 0; i < 20; ++i) (void)polls_in_vain(spin);
  ASSERT_FALSE(polls_in_vain(spin));
  int waits = 0;
  while (!spin.until([] { return true; }, 1)) ASSERT_LT(++waits, 1000);
  EXPECT_TRUE(polls_in_vain(spin));
}

}  // namespace
}  // namespace ob::transport::detail
