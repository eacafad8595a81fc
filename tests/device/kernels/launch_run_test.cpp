#include "device/kernels/launch_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "device/gate.hpp"
#include "support/random.hpp"

namespace ob {
namespace {

// The commands of a queue write here what they have done, in their order; launches, their number.
struct Log {
  std::vector<std::uint32_t> numbers;
  std::size_t requests = 0;
  std::size_t together = 0;          // launches of all requests
  std::size_t most_together = 0;     // launches of one request
  std::uint32_t fails = UINT32_MAX;  // the number of the launch that fails
  std::size_t most = 32;             // most_together()
  std::size_t takes = SIZE_MAX;      // launches that a request takes at most
  int go_along = INT_MAX;            // launches that may run in the turn of another one
};

class NotingProgram final : public KernelProgram {
 public:
  NotingProgram(Log& log, std::vector<KernelFacts> kernels)
      : log_(log), kernels_(std::move(kernels)) {}
  const std::vector<KernelFacts>& kernels() const noexcept override { return kernels_; }

  std::size_t most_together() const noexcept override { return log_.most; }
  Status run(const BoundLaunch& launch, HostQueue& /*queue*/) const override {
    std::uint32_t number = 0;
    std::memcpy(&number, launch.arguments.front().data, sizeof number);
    if (number == log_.fails) return {Code::kernel_fault, "on purpose"};
    log_.numbers.push_back(number);
    return {};
  }
  Status run_some(std::span<const BoundLaunch* const> launches, HostQueue& queue,
                  std::size_t& ran) const override {
    ++log_.requests;
    log_.together += launches.size();
    log_.most_together = std::max(log_.most_together, launches.size());
    Status status;
    for (ran = 0; ran < std::min(launches.size(), log_.takes); ++ran) {
      status = run(*launches[ran], queue);
      if (!status.ok()) break;
    }
    return status;
  }

 private:
  Log& log_;
  const std::vector<KernelFacts> kernels_;
};

class NotingKernels final : public KernelRunner {
 public:
  explicit NotingKernels(Log& log) : log_(log) {}
  Status usable() const override { return {}; }
  bool takes(const ModuleVariant& /*variant*/) const override { return true; }
  Result<std::unique_ptr<KernelProgram>> compile(const ModuleVariant& /*variant*/,
                                                 const std::vector<Definition>& /*definitions*/,
                                                 std::string& /*log*/) const override {
    KernelFacts facts;
    facts.signature = {"note", {{ParameterKind::scalar, false, 4, "uint", "number"}}, {}};
    return std::unique_ptr<KernelProgram>(
        std::make_unique<NotingProgram>(log_, std::vector{std::move(facts)}));
  }

 private:
  Log& log_;
};

struct NoMemory final : MemoryTable {
  HeldMemory held(BufferId /*id*/) const override { return {}; }
};

class LaunchRunTest : public testing::Test {
 protected:
  ModuleId load() {
    return *modules.load({{{SourceKind::portable, "__kernel void note(uint number) {}", ""}}, ""},
                         {}, {});
  }
  // Submits a launch as a device does.
  void launch(ModuleId module, std::uint32_t number, std::uint32_t bytes = 4) {
    const std::vector<KernelArgument> arguments{{ParameterKind::scalar, bytes, &number, {}, 0}};
    auto bound = modules.bind(NoMemory(), {module, "note", {1, 1, 1}, {1, 1, 1}, arguments});
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    auto place = queue.place(std::move(bound).value());
    queue.submit({}, [this, place = std::move(place)](QueueReport& report) -> Status {
      if (place.entry->outcome) return *place.entry->outcome;
      OB_RETURN_IF_ERROR(place.entry->launch->prepare(report.plan_ns));
      const LaunchRun::Request request = place.run->run(
          place.entry, queue, nullptr, [this](const PendingLaunch&) { return log.go_along-- > 0; });
      EXPECT_NE(request.last, nullptr);
      return *place.entry->outcome;
    });
  }
  void other_command(std::uint32_t number) {
    queue.submit({.cheap = true}, [this, number](QueueReport&) {
      log.numbers.push_back(number);
      return Status();
    });
  }
  // Commands wait until the gate opens, so that all of them are there when the first one runs.
  std::shared_ptr<Gate> held() {
    auto gate = std::make_shared<Gate>();
    queue.hold(gate);
    return gate;
  }
  static std::vector<std::uint32_t> count(std::uint32_t end) {
    std::vector<std::uint32_t> all(end);
    for (std::uint32_t i = 0; i < end; ++i) all[i] = i;
    return all;
  }

  Log log;
  KernelModules modules{std::make_shared<NotingKernels>(log)};
  LaunchQueue queue{"test"};
};

TEST_F(LaunchRunTest, LaunchesThatWaitRunTogether) {
  const ModuleId module = load();
  const auto gate = held();
  for (std::uint32_t i = 0; i < 100; ++i) launch(module, i);
  gate->open();
  EXPECT_TRUE(queue.synchronize().status.ok());
  EXPECT_EQ(log.numbers, count(100));
  EXPECT_EQ(log.most_together, 32u);
  EXPECT_LT(log.requests, 10u);
}

// A request that ended early says that launches take long, so the next one prepares few in vain.
TEST_F(LaunchRunTest, LongLaunchesPrepareFewOthers) {
  const ModuleId module = load();
  log.takes = 1;
  const auto gate = held();
  for (std::uint32_t i = 0; i < 100; ++i) launch(module, i);
  gate->open();
  EXPECT_TRUE(queue.synchronize().status.ok());
  EXPECT_EQ(log.numbers, count(100));
  EXPECT_LE(log.together, 210u);
}

TEST_F(LaunchRunTest, LaunchesThatMayNotGoAlongHaveTheirOwnTurn) {
  const ModuleId module = load();
  log.go_along = 0;
  const auto gate = held();
  for (std::uint32_t i = 0; i < 20; ++i) launch(module, i);
  gate->open();
  EXPECT_TRUE(queue.synchronize().status.ok());
  EXPECT_EQ(log.numbers, count(20));
  EXPECT_EQ(log.requests, 20u);
  EXPECT_EQ(log.most_together, 1u);
}

TEST_F(LaunchRunTest, AFailureIsThatOfItsLaunch) {
  const ModuleId module = load();
  log.fails = 7;
  const auto gate = held();  // command 1
  for (std::uint32_t i = 0; i < 20; ++i) launch(module, i);
  gate->open();
  const QueueReport report = queue.synchronize();
  EXPECT_EQ(report.status.code(), Code::kernel_fault);
  EXPECT_EQ(report.failed_command, 9u);
  EXPECT_EQ(log.numbers, count(7));
  EXPECT_GT(log.most_together, 1u);
  // The skipped ones are gone.
  launch(module, 7000);
  EXPECT_TRUE(queue.synchronize().status.ok());
  EXPECT_EQ(log.numbers.back(), 7000u);
  EXPECT_EQ(log.numbers.size(), 8u);
}

TEST_F(LaunchRunTest, AWrongLaunchFailsInItsTurn) {
  const ModuleId module = load();
  const auto gate = held();
  launch(module, 0);
  launch(module, 1);
  launch(module, 2, 2);  // a number of another size
  launch(module, 3);
  gate->open();
  const QueueReport report = queue.synchronize();
  EXPECT_EQ(report.status.code(), Code::invalid_argument);
  EXPECT_EQ(report.failed_command, 4u);
  EXPECT_EQ(log.numbers, count(2));
}

// The order is that of the submission, whatever stands between launches, however many a request
// takes, and wherever one fails.
TEST_F(LaunchRunTest, RandomCommandsKeepTheirOrder) {
  auto random = test::fresh_random();
  const ModuleId modules_here[] = {load(), load()};
  std::uint64_t submitted = 0;
  for (int round = 0; round < 50; ++round) {
    log = {};
    log.takes = test::uniform<std::size_t>(random, 1, 40);
    log.most = test::uniform<std::size_t>(random, 1, 40);
    log.go_along = test::uniform(random, 0, 120);
    const auto commands = test::uniform<std::uint32_t>(random, 1, 120);
    if (round % 2 == 0) log.fails = test::uniform<std::uint32_t>(random, 0, 150);
    const auto gate = held();
    std::uint32_t end = commands;
    for (std::uint32_t i = 0; i < commands; ++i) {
      if (test::uniform(random, 0, 15) == 0) {
        other_command(i);
      } else {
        launch(modules_here[test::uniform(random, 0, 12) == 0 ? 1 : 0], i);
        if (i == log.fails) end = i;
      }
    }
    gate->open();
    const QueueReport report = queue.synchronize();
    EXPECT_EQ(report.status.ok(), end == commands);
    if (end < commands) {
      EXPECT_EQ(report.failed_command, submitted + 1 + end + 1);
    }
    submitted += 1 + commands;  // the gate is a command, too
    EXPECT_EQ(log.numbers, count(end)) << "round " << round;
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace ob
