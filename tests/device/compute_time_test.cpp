#include "device/compute_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace ob {
namespace {

using std::chrono::milliseconds;

constexpr double kWork = 1e6;

Computation work(std::uint64_t session, double flop = kWork, std::uint64_t kind = 1) {
  return {{UserId{1}, SessionId{session}}, kind, flop, "work"};
}

Status take_50_ms() {
  std::this_thread::sleep_for(milliseconds(50));
  return {};
}

// Returns the reports of the computations in `all`, which wait while another session computes.
std::vector<QueueReport> contend(ComputeTime& time, const std::vector<Computation>& all) {
  std::vector<QueueReport> reports(all.size());
  std::vector<std::thread> threads;
  QueueReport first;
  EXPECT_TRUE(time.spend(work(99, 1, 99), first,
                         [&] {
                           for (std::size_t i = 0; i < all.size(); ++i) {
                             threads.emplace_back([&, i] {
                               reports[i].status = time.spend(all[i], reports[i], take_50_ms);
                             });
                           }
                           std::this_thread::sleep_for(milliseconds(500));
                           return Status();
                         })
                  .ok());
  for (std::thread& thread : threads) thread.join();
  return reports;
}

std::size_t refused(const std::vector<QueueReport>& reports) {
  return static_cast<std::size_t>(
      std::count_if(reports.begin(), reports.end(),
                    [](const QueueReport& report) { return report.status.code() == Code::busy; }));
}

// The fixture's ComputeTime has learned that work takes at least 50 ms.
class ComputeTimeTest : public testing::Test {
 protected:
  ComputeTimeTest() { EXPECT_TRUE(time.spend(work(1), learnt, take_50_ms).ok()); }

  ComputeTime time{0.03};
  QueueReport learnt;
};

TEST_F(ComputeTimeTest, WhatIsAloneIsNeverRefused) {
  EXPECT_GE(learnt.compute_ns, 50'000'000u);
  EXPECT_EQ(learnt.waited_ns, 0u);
  QueueReport report;
  EXPECT_TRUE(time.spend(work(1), report, take_50_ms).ok());
  EXPECT_TRUE(time.spend(work(2), report, take_50_ms).ok());
}

TEST_F(ComputeTimeTest, WhatHoldsOthersUpForTooLongIsRefused) {
  const auto reports = contend(time, {work(1), work(2)});
  EXPECT_EQ(refused(reports), 1u);  // nobody waits behind the last one
  for (const QueueReport& report : reports) {
    EXPECT_GT(report.waited_ns, 0u);
    if (report.status.ok()) {
      EXPECT_GE(report.compute_ns, 50'000'000u);
      continue;
    }
    EXPECT_EQ(report.compute_ns, 0u);
    const std::string& said = report.status.message();
    EXPECT_EQ(said.find("work would take about "), 0u) << said;
    EXPECT_NE(said.find("the limit is 0.03 s"), std::string::npos) << said;
    EXPECT_NE(said.find("--longest-command"), std::string::npos) << said;
  }
}

TEST_F(ComputeTimeTest, ShortWorkIsNotRefused) {
  EXPECT_EQ(refused(contend(time, {work(1, 1000), work(2, 1000)})), 0u);
}

TEST_F(ComputeTimeTest, AnUnknownKindIsNotRefused) {
  EXPECT_EQ(refused(contend(time, {work(1, kWork, 2), work(2, kWork, 2)})), 0u);
}

TEST_F(ComputeTimeTest, ASessionDoesNotHoldItselfUp) {
  EXPECT_EQ(refused(contend(time, {work(1), work(1)})), 0u);
}

TEST_F(ComputeTimeTest, WhatFailsTeachesNothing) {
  const auto fail = [] {
    (void)take_50_ms();
    return Status(Code::device_error, "no");
  };
  QueueReport report;
  EXPECT_EQ(time.spend(work(1, kWork, 2), report, fail).code(), Code::device_error);
  EXPECT_EQ(refused(contend(time, {work(1, kWork, 2), work(2, kWork, 2)})), 0u);
}

TEST(ComputeTimeWithoutBoundTest, NothingIsRefused) {
  ComputeTime time(0);
  QueueReport report;
  EXPECT_TRUE(time.spend(work(1), report, take_50_ms).ok());
  EXPECT_EQ(refused(contend(time, {work(1), work(2)})), 0u);
}

TEST(ComputationTest, KindsOfTransformsAndRoutinesDiffer) {
  const Account account;
  FftPlan plan{.rank = 1};
  plan.n = {64};
  FftPlan real = plan;
  real.kind = FftKind::r2c;
  FftPlan single = plan;
  single.precision = Precision::c;
  const auto kind = [&](const FftPlan& of) { return computation_of(of, account).kind; };
  EXPECT_NE(kind(plan), kind(real));
  EXPECT_NE(kind(plan), kind(single));
  EXPECT_GT(kind(plan), std::uint64_t{UINT32_MAX});
  const Descriptor& dgemm = *routines::find("dgemm");
  EXPECT_EQ(computation_of(dgemm, 5, account).kind, dgemm.id);
  EXPECT_EQ(computation_of(dgemm, 5, account).name, "dgemm");
}

}  // namespace
}  // namespace ob
