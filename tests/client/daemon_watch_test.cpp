// The decision that a daemon is dead, with a simulated clock.

#include "client/daemon_watch.hpp"

#include <gtest/gtest.h>

#include "support/random.hpp"

namespace ob::client {
namespace {

using namespace std::chrono_literals;
using Clock = DaemonWatch::Clock;

constexpr std::uint64_t kAnnouncedMs = 300;

// A client that waits, and a daemon that sends or does not. Time passes only in waits.
class Waiting {
 public:
  explicit Waiting(std::shared_ptr<HostSilence> host = nullptr, const Timeouts& timeouts = {})
      : watch(timeouts, std::move(host)) {}

  /// Waits without an answer, and wakes `late` after the planned end. True if it asks the daemon.
  bool wait_in_vain(Clock::duration late = 0ms) {
    const auto begin = now;
    const auto planned_end = watch.next_look(begin);
    now = planned_end + late;
    return watch.should_ask(begin, planned_end, now);
  }
  /// Waits until the daemon counts as dead; returns the time.
  Clock::duration wait_for_death(Clock::duration late = 0ms) {
    const auto begin = now;
    while (!watch.is_dead(now) && now - begin < 60s) (void)wait_in_vain(late);
    return now - begin;
  }

  Clock::time_point now = Clock::now();
  DaemonWatch watch;
};

TEST(DaemonWatch, ADaemonThatPromisesSignsIsGivenUpWithinTwoSeconds) {
  Waiting client;
  client.watch.announced(kAnnouncedMs);
  const auto taken = client.wait_for_death();
  EXPECT_GE(taken, 1500ms);
  EXPECT_LE(taken, 2000ms);
}

TEST(DaemonWatch, ADaemonThatPromisesNothingGetsTheLongerTime) {
  Waiting client;
  EXPECT_EQ(client.wait_for_death(), 4500ms);
}

TEST(DaemonWatch, ADaemonThatPromisesRareSignsGetsSeveralOfThem) {
  Waiting client;
  client.watch.announced(1000);
  EXPECT_EQ(client.wait_for_death(), 4000ms);
  client.watch.heard();
  client.watch.announced(UINT64_MAX);  // no promise makes the time longer than without one
  EXPECT_EQ(client.wait_for_death(), 4500ms);
}

TEST(DaemonWatch, ASignOfLifeBeginsTheSilenceAgain) {
  Waiting client;
  client.watch.announced(kAnnouncedMs);
  for (int i = 0; i < 100; ++i) {
    for (int wait = 0; wait < 6; ++wait) (void)client.wait_in_vain();
    ASSERT_FALSE(client.watch.is_dead(client.now));
    client.watch.heard();
  }
}

TEST(DaemonWatch, ASilentDaemonIsAskedBeforeItIsGivenUp) {
  Waiting client;
  client.watch.announced(kAnnouncedMs);
  int asked = 0;
  for (int i = 0; !client.watch.is_dead(client.now); ++i) {
    ASSERT_LT(i, 100);
    asked += client.wait_in_vain() ? 1 : 0;
  }
  EXPECT_GE(asked, 2);
}

// The process was stopped, or its machine slept. The delay counts as silence, but one delay alone
// never ends the wait: bytes that arrived meanwhile are there afterwards.
TEST(DaemonWatch, OneLongDelayOfTheClientDoesNotEndTheWait) {
  Waiting client;
  client.watch.announced(kAnnouncedMs);
  (void)client.wait_in_vain(3600s);
  EXPECT_FALSE(client.watch.is_dead(client.now));
}

// A client that always wakes late has a busy machine, and its daemon may have the same one. A
// daemon whose signs are late by about as much lives.
TEST(DaemonWatch, ABusyClientGivesABusyDaemonMoreTime) {
  auto random = test::fresh_random();
  for (const auto delay : {50ms, 200ms, 500ms, 1000ms}) {
    Waiting client;
    client.watch.announced(kAnnouncedMs);
    const auto taken = client.wait_for_death(delay);
    EXPECT_GE(taken, 1750ms + 2 * delay);
    EXPECT_LE(taken, 2000ms + 3 * delay);  // the last wait may end late
    // The daemon sends when it gets a core, at most the delay of the client too late.
    Waiting other;
    other.watch.announced(kAnnouncedMs);
    auto next_sign = other.now;
    for (int i = 0; i < 1000; ++i) {
      (void)other.wait_in_vain(std::chrono::milliseconds(random() % (delay.count() + 1)));
      ASSERT_FALSE(other.watch.is_dead(other.now)) << delay.count() << " ms";
      if (other.now < next_sign) continue;
      other.watch.heard();
      next_sign = other.now + std::chrono::milliseconds(kAnnouncedMs) +
                  std::chrono::milliseconds(random() % (2 * delay.count() + 1)) / 2;
    }
  }
}

TEST(DaemonWatch, AcceptedBytesAreASignOnlyWithoutAPromise) {
  Waiting old;
  for (int i = 0; i < 100; ++i) {
    (void)old.wait_in_vain();
    old.watch.bytes_accepted();
    ASSERT_FALSE(old.watch.is_dead(old.now));
  }
  Waiting client;
  client.watch.announced(kAnnouncedMs);
  for (int i = 0; i < 7; ++i) {
    (void)client.wait_in_vain();
    client.watch.bytes_accepted();
  }
  EXPECT_TRUE(client.watch.is_dead(client.now));
}

TEST(DaemonWatch, ASecondConnectionToASilentHostWaitsBriefly) {
  const auto host = std::make_shared<HostSilence>();
  Waiting first(host);
  Waiting second(host);
  first.watch.announced(kAnnouncedMs);
  second.watch.announced(kAnnouncedMs);
  (void)first.wait_for_death();
  (void)first.watch.give_up("far:1");
  second.now = Clock::now();
  EXPECT_LE(second.wait_for_death(), 500ms);
  EXPECT_LE(DaemonWatch::connect_time({}, host.get()), 500ms);
}

TEST(DaemonWatch, AConnectionThatHearsItsDaemonAfterTheReportTrustsItAgain) {
  const auto host = std::make_shared<HostSilence>();
  Waiting client(host);
  client.watch.announced(kAnnouncedMs);
  host->report(client.now);
  client.watch.heard();
  EXPECT_EQ(client.wait_for_death(), 1750ms);
}

TEST(DaemonWatch, ASuspicionFades) {
  const auto host = std::make_shared<HostSilence>();
  Waiting client(host);
  client.watch.announced(kAnnouncedMs);
  host->report(client.now - HostSilence::kSuspicion);
  EXPECT_EQ(client.wait_for_death(), 1750ms);
  EXPECT_EQ(DaemonWatch::connect_time({}, host.get()), 1750ms);
}

TEST(HostOf, NamesTheMachineOfAnAddress) {
  EXPECT_EQ(host_of("far:7770"), "far");
  EXPECT_EQ(host_of("ucx:far:7771"), "far");
  EXPECT_EQ(host_of("[::1]:7770"), "::1");
  EXPECT_EQ(host_of("unix:/run/a.sock"), "unix:/run/a.sock");
  EXPECT_EQ(host_of("nonsense"), "nonsense");
}

}  // namespace
}  // namespace ob::client
