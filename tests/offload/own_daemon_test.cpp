#include "offload/own_daemon.hpp"

#include <gtest/gtest.h>

#include "base/machine.hpp"
#include "offload/local_library.hpp"
#include "offload/processor.hpp"

namespace ob::offload {
namespace {

using policy::LibraryKind;
using policy::LocalLibrary;

LocalLibrary library(LibraryKind kind, double flop_per_cycle, unsigned threads) {
  return {.kind = kind, .clock_hz = 3e9, .flop_per_cycle = flop_per_cycle, .threads = threads};
}

TEST(OwnDaemon, KernelsThatTheUserChoseLimitTheDaemonToo) {
  const double own = flop_per_cycle(this_processor());
  const double chosen = flop_per_cycle(this_processor(), "Prescott");
  EXPECT_DOUBLE_EQ(own_daemon_rate("Prescott") * own, own_daemon_rate("") * chosen);
  EXPECT_DOUBLE_EQ(own_daemon_rate("no such core"), own_daemon_rate(""));
  // The same kernels and threads on both sides never differ clearly.
  const LocalLibrary same{LibraryKind::tuned, clock_hz(), chosen, usable_cores()};
  EXPECT_LT(own_daemon_rate("Prescott"), kClearlyLess * peak_of(same));
}

TEST(OwnDaemon, StartsWhenTheRestOfTheProgramProbablyReturnsTheStart) {
  const LocalLibrary slow = library(LibraryKind::reference, 4, 1);
  const LocalLibrary narrow = library(LibraryKind::tuned, 16, 2);
  const double rate = 0.9 * 3e9 * 32 * 2;
  struct {
    double long_s;
    const LocalLibrary* library;
    bool expected;
  } const cases[] = {
      {0.02, &slow, false},  {0.4, &slow, false},  {0.6, &slow, true},
      {0.6, &narrow, false}, {1.2, &narrow, true}, {0.6, nullptr, false},
      {1.1, nullptr, true},  {0, &slow, false},    {0, nullptr, false},
  };
  for (const auto& known : cases) {
    EXPECT_EQ(is_worth_starting(known.long_s, known.library, rate), known.expected)
        << known.long_s << " s, " << (known.library != nullptr ? peak_of(*known.library) : 0);
  }
}

TEST(OwnDaemon, IsNeverStartedBesideALibraryThatIsAsFast) {
  const LocalLibrary wide = library(LibraryKind::tuned, 32, 2);
  EXPECT_FALSE(is_worth_starting(1e6, &wide, peak_of(wide)));
  EXPECT_FALSE(is_worth_starting(1e6, &wide, 0.9 * peak_of(wide)));
}

TEST(OwnDaemon, MayBeWorthItBesideAnUnknownLibrary) {
  const LocalLibrary unknown = library(LibraryKind::unknown, 32, 2);
  EXPECT_FALSE(is_worth_starting(0.9, &unknown, 0.9 * peak_of(unknown)));
  EXPECT_TRUE(is_worth_starting(1.1, &unknown, 0.9 * peak_of(unknown)));
}

}  // namespace
}  // namespace ob::offload
