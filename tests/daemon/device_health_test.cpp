// Errors of devices, and the tests that a pooled daemon makes of them.

#include "daemon/pool/device_health.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace ob::daemon {
namespace {

using namespace std::chrono_literals;
using Verdict = SelfTest::Verdict;

const Status kDeviceError(Code::device_error, "injected");

TEST(DeviceErrorsTest, EachSessionCountsOnceForAMinute) {
  DeviceErrors errors("n1/0", false);
  const auto begin = DeviceErrors::Clock::now();
  errors.note(LeaseSessionId{1}, kDeviceError, begin);
  errors.note(LeaseSessionId{1}, kDeviceError, begin + 1s);
  errors.note(LeaseSessionId{2}, kDeviceError, begin + 30s);
  EXPECT_EQ(errors.sessions(begin + 30s), 2u);
  EXPECT_EQ(errors.sessions(begin + 61s), 2u);  // the first one had its last error a second later
  EXPECT_EQ(errors.sessions(begin + 61s + 1ms), 1u);
  EXPECT_EQ(errors.sessions(begin + 91s), 0u);
  EXPECT_EQ(errors.noted(), 3u);
}

TEST(DeviceErrorsTest, OtherFailuresAreNotTheDevices) {
  DeviceErrors errors("n1/0", false);
  const auto now = DeviceErrors::Clock::now();
  for (const Code code : {Code::kernel_fault, Code::out_of_memory, Code::invalid_argument,
                          Code::busy, Code::fenced}) {
    errors.note(LeaseSessionId{1}, Status(code, "x"), now);
  }
  EXPECT_EQ(errors.sessions(now), 0u);
  EXPECT_EQ(errors.noted(), 0u);
}

TEST(DeviceErrorsTest, NoClientCanBreakAnIsolatedDevice) {
  DeviceErrors errors("n1/0", true);
  const auto now = DeviceErrors::Clock::now();
  for (std::uint64_t i = 1; i <= 5; ++i) errors.note(LeaseSessionId{i}, kDeviceError, now);
  EXPECT_EQ(errors.sessions(now), 0u);
  EXPECT_EQ(errors.noted(), 5u);  // so that it is tested
}

class DeviceHealthTest : public testing::Test {
 protected:
  DeviceHealthTest()
      : leases_({.daemon = "n1", .devices = {{"n1/0", 1 << 20}, {"n1/1", 1 << 20}}}, "url",
                WithoutLease::refuse) {}

  std::unique_ptr<DeviceHealth> watch(std::chrono::milliseconds interval) {
    return std::make_unique<DeviceHealth>(
        leases_, DeviceHealth::Config{{"n1/0", "n1/1"},
                                      [this](std::size_t device, const auto& gives_up) {
                                        if (device == 0) ++tests_;
                                        while (hangs_ && !gives_up())
                                          std::this_thread::sleep_for(1ms);
                                        return SelfTest{verdict_, "injected"};
                                      },
                                      interval});
  }
  void fail() {
    leases_.errors(0).note(LeaseSessionId{1}, kDeviceError, DeviceErrors::Clock::now());
  }
  // Asks for reports, as heartbeats do, until `happens`.
  template <class Happens>
  static bool eventually(DeviceHealth& health, Happens happens) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!happens(health.report(0))) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }

  Leases leases_;
  std::atomic<Verdict> verdict_{Verdict::right};
  std::atomic<int> tests_{0};
  std::atomic<bool> hangs_{false};
};

TEST_F(DeviceHealthTest, WithoutErrorsNothingIsTested) {
  const auto health = watch(0ms);
  for (int i = 0; i < 50; ++i) {
    const DeviceHealth::Report report = health->report(0);
    EXPECT_EQ(report.failed_sessions, 0u);
    EXPECT_FALSE(report.fatal);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(tests_, 0);
}

TEST_F(DeviceHealthTest, AnErrorIsFollowedByOneTest) {
  const auto health = watch(1h);
  fail();
  ASSERT_TRUE(eventually(*health, [&](const auto&) { return tests_ == 1; }));
  fail();  // too soon for another test
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(health->report(0).fatal);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(tests_, 1);
  EXPECT_EQ(health->report(0).failed_sessions, 1u);
  EXPECT_EQ(health->report(0).self_tests_ok, 0u);  // it was not broken
  EXPECT_EQ(health->report(1).failed_sessions, 0u);
}

TEST_F(DeviceHealthTest, ATestThatFailsIsFatal) {
  verdict_ = Verdict::wrong;
  const auto health = watch(1h);
  fail();
  EXPECT_TRUE(eventually(*health, [](const auto& report) { return report.fatal; }));
  EXPECT_FALSE(health->report(1).fatal);
}

TEST_F(DeviceHealthTest, ADeviceThatCannotBeTestedIsNotFatalAndTestedAgain) {
  verdict_ = Verdict::unknown;
  const auto health = watch(0ms);
  fail();
  ASSERT_TRUE(eventually(*health, [&](const auto&) { return tests_ >= 3; }));
  health->set_broken(0, true);
  const int before = tests_;
  ASSERT_TRUE(eventually(*health, [&](const auto&) { return tests_ >= before + 5; }));
  EXPECT_FALSE(health->report(0).fatal);
  EXPECT_EQ(health->report(0).self_tests_ok, 0u);
}

TEST_F(DeviceHealthTest, TestsOfABrokenDeviceAreCountedInARow) {
  verdict_ = Verdict::wrong;
  const auto health = watch(1ms);
  health->set_broken(0, true);  // as a daemon that has just started hears
  ASSERT_TRUE(eventually(*health, [](const auto& report) { return report.fatal; }));
  verdict_ = Verdict::right;
  ASSERT_TRUE(eventually(*health, [](const auto& report) { return report.self_tests_ok >= 2; }));
  EXPECT_FALSE(health->report(0).fatal);
  verdict_ = Verdict::wrong;
  ASSERT_TRUE(eventually(*health, [](const auto& report) { return report.fatal; }));
  EXPECT_EQ(health->report(0).self_tests_ok, 0u);
  verdict_ = Verdict::right;
  EXPECT_TRUE(eventually(*health, [](const auto& report) { return report.self_tests_ok >= 3; }));
}

TEST_F(DeviceHealthTest, AMendedDeviceBeginsAnew) {
  verdict_ = Verdict::wrong;
  const auto health = watch(1h);
  fail();
  ASSERT_TRUE(eventually(*health, [](const auto& report) { return report.fatal; }));
  health->set_broken(0, true);
  health->set_broken(0, true);  // each answer of the manager says so
  EXPECT_EQ(health->report(0).failed_sessions, 1u);
  health->set_broken(0, false);  // an administrator has cleared it
  const DeviceHealth::Report report = health->report(0);
  EXPECT_FALSE(report.fatal);
  EXPECT_EQ(report.failed_sessions, 0u);
}

TEST_F(DeviceHealthTest, ATestThatBeganBeforeTheMendingIsNotCounted) {
  verdict_ = Verdict::wrong;
  hangs_ = true;
  const auto health = watch(0ms);
  health->set_broken(0, true);
  ASSERT_TRUE(eventually(*health, [&](const auto&) { return tests_ == 1; }));
  health->set_broken(0, false);
  hangs_ = false;
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(health->report(0).fatal);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(tests_, 1);
}

TEST_F(DeviceHealthTest, AnIsolatedDeviceIsFatalAfterTwoTests) {
  Leases leases({.daemon = "n1", .devices = {{"n1/0", 1 << 20, true}}}, "url",
                WithoutLease::refuse);
  DeviceHealth health(leases, {{"n1/0"},
                               [this](std::size_t, const auto&) {
                                 const bool first = ++tests_ % 2 == 1;
                                 return SelfTest{first ? Verdict::wrong : verdict_.load(), "x"};
                               },
                               0ms});
  leases.errors(0).note(LeaseSessionId{1}, kDeviceError, DeviceErrors::Clock::now());
  ASSERT_TRUE(eventually(health, [&](const auto&) { return tests_ == 2; }));
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(health.report(0).fatal);
    std::this_thread::sleep_for(1ms);
  }
  verdict_ = Verdict::wrong;
  leases.errors(0).note(LeaseSessionId{1}, kDeviceError, DeviceErrors::Clock::now());
  EXPECT_TRUE(eventually(health, [](const auto& report) { return report.fatal; }));
}

TEST_F(DeviceHealthTest, ItsEndDoesNotWaitForADeviceThatHangs) {
  hangs_ = true;
  auto health = watch(0ms);
  fail();
  ASSERT_TRUE(eventually(*health, [&](const auto&) { return tests_ == 1; }));
  health.reset();  // otherwise the test ends after 10 s, and its result is counted
  EXPECT_EQ(tests_, 1);
}

}  // namespace
}  // namespace ob::daemon
