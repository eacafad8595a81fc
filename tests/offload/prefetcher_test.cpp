// Operands are brought beside the calls, and calls find them.

#include "offload/prefetcher.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "offload/jobs.hpp"
#include "offload/journal.hpp"
#include "offload/work.hpp"
#include "support/dgemm.hpp"
#include "support/in_process_daemon.hpp"

namespace ob::offload {
namespace {

using policy::Preparation;
using test::InProcessDaemon;
using test::Transport;

constexpr std::int64_t kOrder = 700;  // more than one chunk for each operand
constexpr std::uint64_t kBytes = kOrder * kOrder * 8;

class PrefetcherTest : public testing::Test {
 protected:
  PrefetcherTest() : a_(elements()), b_(elements()), c_(elements()) {
    for (std::size_t i = 0; i < a_.size(); ++i) {
      a_[i] = std::sin(static_cast<double>(i));
      b_[i] = std::cos(3.0 * static_cast<double>(i));
    }
    test::square_dgemm(kOrder, call_.items);
    set("a", a_.data());
    set("b", b_.data());
    set("c", c_.data());
    EXPECT_TRUE(connections_.acquire().ok());  // the first connection is idle from now on
  }

  void set(const char* name, double* matrix) {
    test::argument_named(call_.items, test::dgemm(), name).host = {matrix, kOrder};
  }
  RoutineCall call() const { return {test::dgemm(), call_.items}; }
  void start(Preparation preparation) {
    prefetcher_.start(execution_, call(), work_of(test::dgemm(), call_.items), preparation);
  }
  double bytes_there() const { return residents_.bytes_on_device(0, test::dgemm(), call_.items); }
  // Waits until the operands are there, or a minute has passed.
  void wait_for(double bytes) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (bytes_there() < bytes && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  algorithms::CallTimings run() {
    auto acquired = connections_.acquire();
    EXPECT_TRUE(acquired.ok());
    algorithms::CallTimings timings;
    CallJob job(execution_, call());
    EXPECT_TRUE(job.run(*acquired, timings).ok());
    return timings;
  }
  bool is_right(std::size_t row, std::size_t column) const {
    double sum = 0;
    for (std::size_t k = 0; k < kOrder; ++k) sum += a_[k * kOrder + row] * b_[column * kOrder + k];
    // |error| <= k eps |A| |B|, with elements of at most 1
    return std::abs(c_[column * kOrder + row] - sum) <= kOrder * kOrder * 0x1p-52;
  }
  static std::size_t elements() { return static_cast<std::size_t>(kOrder * kOrder); }
  static Config config_of(const InProcessDaemon& daemon) {
    Config config;
    config.servers = {daemon.address()};
    config.quiet = true;
    config.resident_bytes = 1 << 26;
    return config;
  }
  static client::ConnectionCache::Config connections_of(const InProcessDaemon& daemon) {
    client::ConnectionCache::Config config;
    config.servers = {daemon.address()};
    return config;
  }

  InProcessDaemon daemon_{
      Transport::tcp,
      test::one(test::require(cpu::create({.memory_bytes = 1 << 28, .threads = 1})))};
  const Config config_ = config_of(daemon_);
  Journal journal_{config_};
  ResidencySupport support_;
  client::ConnectionCache connections_{connections_of(daemon_)};
  Tuning tuning_{config_, connections_};
  Residents residents_{config_, connections_, journal_.report, support_};
  PeerRates peer_rates_;
  FactorPlans factor_plans_;
  policy::RateModel rates_{1};
  const Execution execution_{config_, connections_, residents_, peer_rates_, factor_plans_, rates_};
  std::vector<double> a_, b_, c_;
  CallArguments call_;
  Prefetcher prefetcher_{connections_, residents_, tuning_};
};

TEST_F(PrefetcherTest, CallsFindTheirOperands) {
  start(Preparation::operands);
  wait_for(2 * kBytes);
  ASSERT_EQ(bytes_there(), 2.0 * kBytes);
  const algorithms::CallTimings timings = run();
  EXPECT_EQ(timings.bytes_kept, 2 * kBytes);
  EXPECT_EQ(timings.bytes_to, 0u);
  EXPECT_TRUE(is_right(0, 0) && is_right(kOrder - 1, 5) && is_right(17, kOrder - 1));
}

TEST_F(PrefetcherTest, OperandsThatChangeAfterwardsAreSentAgain) {
  start(Preparation::operands);
  wait_for(2 * kBytes);
  for (double& element : a_) element += 1;
  const algorithms::CallTimings timings = run();
  EXPECT_EQ(timings.bytes_to, kBytes);
  EXPECT_TRUE(is_right(0, 0) && is_right(kOrder - 1, 5) && is_right(17, kOrder - 1));
}

TEST_F(PrefetcherTest, CallsRunWhileOperandsAreBrought) {
  start(Preparation::operands);
  for (int i = 0; i < 20; ++i) {
    a_[static_cast<std::size_t>(i) * 1000] = i;
    run();
    ASSERT_TRUE(is_right(0, 0) && is_right(kOrder - 1, 5) && is_right(17, kOrder - 1)) << i;
  }
}

TEST_F(PrefetcherTest, MemoryThatDisappearsEndsTheWork) {
  void* const gone =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(gone, MAP_FAILED);
  ASSERT_EQ(munmap(gone, kBytes), 0);
  set("a", static_cast<double*>(gone));
  start(Preparation::operands);
  set("a", a_.data());
  // The next start takes place once the thread has ended.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (bytes_there() < 2 * kBytes && std::chrono::steady_clock::now() < deadline) {
    start(Preparation::operands);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(run().bytes_kept, 2 * kBytes);
}

TEST_F(PrefetcherTest, MemoryIsUsedAndGivenBack) {
  start(Preparation::memory);
  prefetcher_.close();
  EXPECT_EQ(bytes_there(), 0);
  EXPECT_EQ(run().bytes_to, 2 * kBytes);
  EXPECT_TRUE(is_right(0, 0) && is_right(kOrder - 1, 5));
}

TEST_F(PrefetcherTest, NothingStartsAfterTheEnd) {
  prefetcher_.close();
  start(Preparation::operands);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(bytes_there(), 0);
}

}  // namespace
}  // namespace ob::offload
