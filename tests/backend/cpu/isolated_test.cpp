// The cpu device with executors, and a BLAS library that aborts, loops and reaches out on request.

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <list>
#include <memory>
#include <numbers>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "backend/cpu/backend.hpp"
#include "base/sanitizer.hpp"
#include "hostile_requests.hpp"
#include "support/forked_child.hpp"
#include "support/mapped_buffers.hpp"

namespace ob {
namespace {

using cpu::Isolation;
using hostile::Request;
using test::mapped_buffer_files;
using Clock = std::chrono::steady_clock;

// Calls of small order run on the thread that submits them, large ones do not.
constexpr std::uint64_t kSmall = 4;
constexpr std::uint64_t kLarge = 256;
constexpr Account kAda{UserId{1}, SessionId{11}};
constexpr Account kBob{UserId{2}, SessionId{22}};
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

cpu::Config config(Isolation isolation) {
  return {.memory_bytes = 256 * kMiB,
          .threads = 1,
          .isolation = isolation,
          .executor = OUTBOARD_EXECUTOR,
          .executor_bytes = 256 * kMiB,
          .gflops_double = 1};
}

// One client: a queue and three matrices.
class Client {
 public:
  Client(Device& device, const Account& account, std::uint64_t order = kSmall)
      : device_(device), order_(order), bytes_(order * order * sizeof(double)) {
    queue_ = device.create_queue(account).value();
    for (BufferId& buffer : buffers_) buffer = device.allocate(bytes_, account).value();
    std::vector<double> ones(order * order, 1.0);
    for (const BufferId buffer : buffers_) {
      (void)device.write(queue_, buffer, all(), Layout::bytes(ones.data(), bytes_));
    }
    (void)device.synchronize(queue_);
  }
  ~Client() {
    for (const BufferId buffer : buffers_) (void)device_.free(buffer);
    (void)device_.destroy_queue(queue_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  QueueId queue() const { return queue_; }

  /// Submits C := alpha A B of matrices of ones.
  void submit(double alpha) {
    Argument arguments[kMaxArguments];
    arguments[0].flag = arguments[1].flag = 'N';
    for (const int i : {2, 3, 4}) arguments[i].dim = static_cast<std::int64_t>(order_);
    arguments[5].scalar = {alpha, 0};
    arguments[8].scalar = {0, 0};
    for (const int i : {0, 1, 2}) {
      arguments[i == 2 ? 9 : 6 + i].device = {buffers_[i], 0, static_cast<std::int64_t>(order_)};
    }
    ASSERT_TRUE(device_.call(queue_, *routines::find("dgemm"), arguments).ok());
  }
  /// Runs the product and returns the status and C(1,1).
  Status run(double alpha, double& first) {
    submit(alpha);
    std::vector<double> c(order_ * order_, -1);
    (void)device_.read(queue_, buffers_[2], all(), Layout::bytes(c.data(), bytes_));
    Status status = device_.synchronize(queue_).status;
    first = c[0];
    return status;
  }
  Status run(Request request, double& first) {
    return run(hostile::kFirst + static_cast<double>(request), first);
  }
  Status run(Request request) {
    double ignored = 0;
    return run(request, ignored);
  }
  void expect_correct() {
    double first = 0;
    const Status status = run(0.5, first);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(first, 0.5 * static_cast<double>(order_));
  }
  pid_t process() {
    double pid = 0;
    EXPECT_TRUE(run(Request::process, pid).ok());
    return static_cast<pid_t>(pid);
  }

 private:
  Region all() const { return {.rows = bytes_, .cols = 1, .ld = bytes_}; }
  Device& device_;
  const std::uint64_t order_;
  const std::uint64_t bytes_;
  QueueId queue_;
  BufferId buffers_[3];
};

int first_processor() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  (void)sched_getaffinity(0, sizeof allowed, &allowed);
  int first = 0;
  while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &allowed)) ++first;
  return first;
}

// Processes that use all of some processors until this object is destroyed.
class BusyProcesses {
 public:
  BusyProcesses(const cpu_set_t& processors, int count) {
    for (int i = 0; i < count; ++i) {
      children_.emplace_back([&processors] {
        (void)sched_setaffinity(0, sizeof processors, &processors);
        test::compute_for_ever();
      });
    }
  }

 private:
  std::list<test::ForkedChild> children_;
};

// Keeps this thread on some processors until this object is destroyed.
class PinnedThread {
 public:
  explicit PinnedThread(const cpu_set_t& processors) {
    (void)sched_getaffinity(0, sizeof before_, &before_);
    (void)sched_setaffinity(0, sizeof processors, &processors);
  }
  ~PinnedThread() { (void)sched_setaffinity(0, sizeof before_, &before_); }
  PinnedThread(const PinnedThread&) = delete;
  PinnedThread& operator=(const PinnedThread&) = delete;

 private:
  cpu_set_t before_{};
};

// Executors that start while this object lives load the hostile library.
class HostileLibrary {
 public:
  HostileLibrary() { EXPECT_EQ(setenv("OUTBOARD_BLAS", OUTBOARD_HOSTILE_BLAS, 1), 0); }
  ~HostileLibrary() { unsetenv("OUTBOARD_BLAS"); }
  HostileLibrary(const HostileLibrary&) = delete;
  HostileLibrary& operator=(const HostileLibrary&) = delete;
};

class IsolatedTest : public testing::TestWithParam<Isolation> {
 protected:
  void SetUp() override {
    auto made = cpu::create(config(GetParam()));
    ASSERT_TRUE(made.ok()) << made.status().message();
    device_ = std::move(made).value();
  }

  const HostileLibrary library_;
  std::unique_ptr<Device> device_;
};

using Files = std::set<std::string>;

Files without(const Files& all, const Files& some) {
  Files rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(),
                      std::inserter(rest, rest.end()));
  return rest;
}

TEST_P(IsolatedTest, CallsRunInAnotherProcessWithTheSameResults) {
  Client ada(*device_, kAda);
  ada.expect_correct();
  EXPECT_NE(ada.process(), getpid());
}

TEST_P(IsolatedTest, EachClientHasItsOwnProcess) {
  Client ada(*device_, kAda);
  Client bob(*device_, kBob);
  EXPECT_NE(ada.process(), bob.process());
  const Account second{kAda.user, SessionId{12}};
  Client again(*device_, second);
  EXPECT_EQ(ada.process() == again.process(), GetParam() == Isolation::user);
}

// An executor has few descriptors.
TEST_P(IsolatedTest, MapsManyBuffers) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<Client>(*device_, kAda));
    clients.back()->expect_correct();
  }
}

// An executor that computes takes no notice of freed buffers meanwhile.
TEST_P(IsolatedTest, ManyBuffersThatAreFreedDuringACallDoNotEndIt) {
  Client ada(*device_, kAda);
  const pid_t process = ada.process();
  std::vector<std::unique_ptr<Client>> others;
  for (int i = 0; i < 150; ++i) {
    others.push_back(std::make_unique<Client>(*device_, kAda, 128));
    others.back()->expect_correct();
  }
  ASSERT_GT(mapped_buffer_files(process).size(), 400u);
  ASSERT_EQ(kill(process, SIGSTOP), 0);
  others.clear();
  ASSERT_EQ(kill(process, SIGCONT), 0);
  ada.expect_correct();
  EXPECT_EQ(ada.process(), process);
  EXPECT_LT(mapped_buffer_files(process).size(), 300u) << "the pool keeps at most 256";
}

TEST_P(IsolatedTest, SessionsWithoutAProvenUserShareNothing) {
  Client first(*device_, {UserId{}, SessionId{1}});
  Client second(*device_, {UserId{}, SessionId{2}});
  EXPECT_NE(first.process(), second.process());
}

TEST_P(IsolatedTest, TheEndOfAProcessCostsOnlyTheCallInFlight) {
  for (const Request request : {Request::abort, Request::fault, Request::exit}) {
    Client ada(*device_, kAda);
    Client bob(*device_, kBob);
    const pid_t bobs = bob.process();
    const Status status = ada.run(request);
    EXPECT_EQ(status.code(), Code::device_error) << status.message();
    EXPECT_NE(status.message().find("ended"), std::string::npos) << status.message();
    ada.expect_correct();
    bob.expect_correct();
    EXPECT_EQ(bob.process(), bobs);
  }
}

TEST_P(IsolatedTest, AnExecutorThatIsKilledBetweenCallsIsReplacedUnnoticed) {
  Client ada(*device_, kAda);
  const pid_t before = ada.process();
  ASSERT_EQ(kill(before, SIGKILL), 0);
  siginfo_t end;
  (void)waitid(P_PID, static_cast<id_t>(before), &end, WEXITED | WNOWAIT);  // it may be reaped
  ada.expect_correct();
  EXPECT_NE(ada.process(), before);
}

TEST_P(IsolatedTest, ReachesNothingOutside) {
#if OB_SANITIZER
  GTEST_SKIP() << "sanitizers need the system calls that executors are denied";
#endif
  Client ada(*device_, kAda);
  double reached = -1;
  const Status status = ada.run(Request::reach_out, reached);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(reached, 0) << "bits of hostile_blas.cpp";
  double taken = -1;
  ASSERT_TRUE(ada.run(Request::take_memory, taken).ok());
  EXPECT_GT(taken, 64);
  // 64 MiB for each thread of the library, and for the executor's own, are not counted.
  EXPECT_LE(taken, 256 + 2 * 64) << "MiB beyond --session-host-memory";
  double uncounted = -1;
  ASSERT_TRUE(ada.run(Request::take_shared_memory, uncounted).ok());
  EXPECT_EQ(uncounted, 0) << "mappings that the limit does not count";
}

// The device, in this process, maps the buffers of all clients.
TEST_P(IsolatedTest, HasOnlyTheBuffersOfItsClientAndOnlyWhileTheyLive) {
  const Files before = mapped_buffer_files(getpid());
  Client ada(*device_, kAda, kLarge);
  const Files adas = without(mapped_buffer_files(getpid()), before);
  Client bob(*device_, kBob, kLarge);
  const Files bobs = without(without(mapped_buffer_files(getpid()), before), adas);
  EXPECT_EQ(adas.size(), 3u);
  EXPECT_EQ(bobs.size(), 3u);
  const pid_t process = ada.process();
  EXPECT_EQ(mapped_buffer_files(process), adas);
  EXPECT_EQ(mapped_buffer_files(bob.process()), bobs);
  // Small buffers share a file. The device keeps one such file without buffers, for its session.
  const auto more = [&] { return without(mapped_buffer_files(process), adas); };
  Files first;
  for (const std::uint64_t order : {kSmall, 16 * kSmall}) {
    Client small(*device_, kAda, order);
    small.expect_correct();
    if (first.empty()) first = more();
  }
  EXPECT_EQ(first.size(), 1u);
  const auto until = Clock::now() + std::chrono::seconds(20);
  while (more().size() > 1 && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(more().size(), 1u);
  EXPECT_NE(more(), first);
  EXPECT_EQ(without(mapped_buffer_files(process), more()), adas);
}

TEST_P(IsolatedTest, HasNoSmallBuffersOfAnotherClient) {
  Client ada(*device_, kAda);
  Client bob(*device_, kBob);
  const Files adas = mapped_buffer_files(ada.process());
  const Files bobs = mapped_buffer_files(bob.process());
  EXPECT_EQ(adas.size(), 1u) << "small buffers of one client share a file";
  EXPECT_EQ(bobs.size(), 1u);
  EXPECT_NE(adas, bobs);
}

// Ada's executor has mapped them, and the device keeps their memory for the next buffers.
TEST_P(IsolatedTest, NobodyElseGetsTheMemoryOfFreedBuffers) {
  Files freed;
  {
    Client ada(*device_, kAda, kLarge);
    freed = mapped_buffer_files(ada.process());
    EXPECT_EQ(freed.size(), 3u);
  }
  for (int i = 0; i < 20; ++i) {
    Client bob(*device_, kBob, kLarge);
    const Files bobs = mapped_buffer_files(bob.process());
    EXPECT_EQ(without(bobs, freed), bobs);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // while a thread cleans them
  }
}

// Without the end of the loop this test would never end.
TEST_P(IsolatedTest, AnEndlessCallOfAClientThatHasGoneIsStopped) {
  Client bob(*device_, kBob);
  {
    Client ada(*device_, kAda, kLarge);
    ada.submit(hostile::kFirst + static_cast<double>(Request::loop));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ASSERT_TRUE(device_->abandon(ada.queue()).ok());
  }
  bob.expect_correct();
}

TEST_P(IsolatedTest, AnEndlessCallThatLooksCheapIsStopped) {
  Client ada(*device_, kAda);
  const Status status = ada.run(Request::loop);
  EXPECT_EQ(status.code(), Code::busy) << status.message();
  ada.expect_correct();
}

// The executor gets so little of one processor that a call of microseconds takes a second or more.
// It runs on the processor of the thread that calls.
TEST_P(IsolatedTest, ACheapCallOnABusyMachineIsNotStopped) {
  Client ada(*device_, kAda);
  const pid_t process = ada.process();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first_processor(), &one);
  const sched_param none{};
  const PinnedThread pinned(one);
  if (sched_setaffinity(process, sizeof one, &one) != 0 ||
      sched_setscheduler(process, SCHED_IDLE, &none) != 0) {
    GTEST_SKIP() << "this process may not change how its executors are scheduled";
  }
  const BusyProcesses busy(one, 8);
  const auto start = Clock::now();
  double longest_s = 0;
  while (longest_s < 1 && Clock::now() - start < std::chrono::seconds(20)) {
    const auto began = Clock::now();
    ada.expect_correct();
    longest_s = std::max(longest_s, std::chrono::duration<double>(Clock::now() - began).count());
  }
  EXPECT_EQ(ada.process(), process);
  std::printf("the longest call took %.2f s\n", longest_s);
  if (longest_s < 1) GTEST_SKIP() << "no call was delayed";
}

TEST_P(IsolatedTest, PlansComeBackInANewExecutor) {
  Client ada(*device_, kAda);
  constexpr std::uint64_t kPoints = 16;
  using Values = std::vector<std::complex<double>>;
  FftPlan plan;
  plan.rank = 1;
  plan.n[0] = kPoints;
  plan.batch = 1;
  plan.sign = -1;
  plan.precision = Precision::z;
  plan.in_place = false;
  const PlanId id = device_->make_plan(plan).value();
  const std::uint64_t bytes = kPoints * sizeof(Values::value_type);
  const Region all{.rows = bytes, .cols = 1, .ld = bytes};
  const BufferId input = device_->allocate(bytes).value();
  const BufferId output = device_->allocate(bytes).value();
  Values wave(kPoints);
  for (std::uint64_t i = 0; i < kPoints; ++i) {
    wave[i] = std::polar(1.0, 2 * std::numbers::pi * 3 * static_cast<double>(i) / kPoints);
  }
  for (const bool after_end : {false, true}) {
    if (after_end) {
      EXPECT_FALSE(ada.run(Request::abort).ok());
    }
    Values result(kPoints, -1);
    (void)device_->write(ada.queue(), input, all, Layout::bytes(wave.data(), bytes));
    (void)device_->execute(ada.queue(), id, {input, 0}, {output, 0});
    (void)device_->read(ada.queue(), output, all, Layout::bytes(result.data(), bytes));
    const Status status = device_->synchronize(ada.queue()).status;
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::uint64_t i = 0; i < kPoints; ++i) {
      const double expected = i == 3 ? kPoints : 0;
      EXPECT_LT(std::abs(result[i] - expected), 1e-12) << i;
    }
  }
  (void)device_->destroy_plan(id);
  (void)device_->free(input);
  (void)device_->free(output);
}

TEST_P(IsolatedTest, AClientWhoseExecutorsKeepEndingIsBusy) {
  Client ada(*device_, kAda);
  Client bob(*device_, kBob);
  Status status;
  for (int i = 0; i < 40 && status.code() != Code::busy; ++i) status = ada.run(Request::abort);
  EXPECT_EQ(status.code(), Code::busy) << status.message();
  bob.expect_correct();
}

INSTANTIATE_TEST_SUITE_P(, IsolatedTest, testing::Values(Isolation::user, Isolation::session),
                         [](const auto& test) {
                           return test.param == Isolation::user ? "User" : "Session";
                         });

TEST(IsolatedLimitTest, ACallBeyondTheLimitIsStoppedOnceOthersWait) {
  const HostileLibrary library;
  cpu::Config limited = config(Isolation::user);
  limited.longest_command_s = 0.2;
  auto device = cpu::create(limited);
  ASSERT_TRUE(device.ok()) << device.status().message();
  Client ada(**device, kAda, kLarge);
  Client bob(**device, kBob);
  ada.submit(hostile::kFirst + static_cast<double>(Request::loop));
  std::atomic<bool> ended{false};
  std::thread others([&] {
    while (!ended) (void)bob.run(Request::process);  // on a busy machine, he may be stopped, too
  });
  const Status status = (*device)->synchronize(ada.queue()).status;
  ended = true;
  others.join();
  bob.expect_correct();
  EXPECT_EQ(status.code(), Code::busy) << status.message();
  EXPECT_NE(status.message().find("--longest-command"), std::string::npos) << status.message();
  ada.expect_correct();
}

// Otherwise Bob would wait for ever: this device has no limit for a command.
TEST_P(IsolatedTest, OthersDoNotWaitForALongCall) {
  Client ada(*device_, kAda, kLarge);
  Client bob(*device_, kBob);
  const pid_t adas = ada.process();
  ada.submit(hostile::kFirst + static_cast<double>(Request::loop));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  bob.expect_correct();
  EXPECT_EQ(kill(adas, 0), 0) << "the long call still runs";
  ASSERT_TRUE(device_->abandon(ada.queue()).ok());
}

TEST(IsolatedStartTest, ADeviceWithoutItsExecutorSaysSo) {
  cpu::Config absent = config(Isolation::user);
  absent.executor = "/nonexistent/outboard-executor";
  const auto device = cpu::create(absent);
  EXPECT_EQ(device.status().code(), Code::unavailable);
  EXPECT_NE(device.status().message().find("/nonexistent/outboard-executor"), std::string::npos)
      << device.status().message();
}

}  // namespace
}  // namespace ob
