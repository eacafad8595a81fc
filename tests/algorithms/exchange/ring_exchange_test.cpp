// Tests factorizations whose panels go from daemon to daemon. The results are the same, no panel
// passes through this process, and every failure is reported soon. After a failure the devices
// serve the next call.

#include "algorithms/exchange/ring_exchange.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "algorithms/factor/call.hpp"
#include "algorithms/factor/factor_matrix.hpp"
#include "algorithms/factor/plan.hpp"
#include "algorithms/factor/step_model.hpp"
#include "algorithms/place.hpp"
#include "routines/agreement.hpp"
#include "routines/random_problem.hpp"
#include "support/original.hpp"

namespace ob::test {
namespace {

using algorithms::FactorShape;
using algorithms::RingExchange;
using algorithms::Route;
using Clock = std::chrono::steady_clock;

/// The distribution of the devices of a ring to daemons.
enum class Spread {
  one_daemon,  ///< one daemon has all devices
  each_its_own,
  hidden,  ///< each device has its own daemon, and the host cannot access its memory
  mixed,   ///< one daemon has two devices; each other device has its own daemon
  shared_memory
};

std::string spread_name(const testing::TestParamInfo<Spread>& info) {
  switch (info.param) {
    case Spread::one_daemon: return "one_daemon";
    case Spread::each_its_own: return "each_its_own";
    case Spread::hidden: return "hidden";
    case Spread::mixed: return "mixed";
    case Spread::shared_memory: return "shared_memory";
  }
  return "";
}

/// Devices behind daemons in this process. Each device has a connection.
class Ring {
 public:
  Ring(Spread spread, std::size_t count, std::uint64_t memory_bytes = 64 << 20) {
    for (std::size_t i = 0; i < count; ++i) {
      inner_.push_back(cpu_device(memory_bytes));
      auto forwarding = std::make_unique<ForwardingDevice>(*inner_.back());
      if (spread == Spread::hidden) forwarding->hide_memory();
      at_.push_back(forwarding.get());
      waiting_.push_back(std::move(forwarding));
      const bool alone = spread == Spread::each_its_own || spread == Spread::hidden ||
                         (spread == Spread::mixed && i > 0);
      if (alone) open(Transport::tcp);
    }
    open(spread == Spread::shared_memory ? Transport::shm : Transport::tcp);
  }
  ~Ring() {
    remote_.clear();
    daemons_.clear();
  }

  std::vector<Device*> devices() const {
    std::vector<Device*> all;
    for (const auto& remote : remote_) all.push_back(remote.get());
    return all;
  }
  Result<std::unique_ptr<algorithms::PanelExchange>> exchange(double block_bytes,
                                                              std::uint64_t memory_bytes = 0,
                                                              Route route = Route::ring) {
    if (route == Route::relay) {
      return std::unique_ptr<algorithms::PanelExchange>(
          host_exchange(devices(), block_bytes, memory_bytes));
    }
    algorithms::ExchangeModel model;
    model.block_bytes = block_bytes;
    model.ranks.assign(remote_.size(), {0, 0, 0, memory_bytes});
    OB_ASSIGN_OR_RETURN(auto made, RingExchange::create(devices(), model));
    return std::unique_ptr<algorithms::PanelExchange>(std::move(made));
  }
  ForwardingDevice& at(std::size_t i) { return *at_[i]; }
  InProcessDaemon& daemon(std::size_t i) { return *daemons_[i]; }

 private:
  void open(Transport transport) {
    if (waiting_.empty()) return;
    const std::size_t count = waiting_.size();
    std::vector<std::unique_ptr<Device>> devices;
    for (auto& device : waiting_) devices.push_back(std::move(device));
    waiting_.clear();
    daemons_.push_back(std::make_unique<InProcessDaemon>(transport, std::move(devices)));
    for (std::uint32_t i = 0; i < count; ++i) {
      remote_.push_back(require(client::RemoteDevice::open(
          daemons_.back()->address(), {.timeouts = {.connect_ms = 30000}, .device = i})));
    }
  }

  std::vector<std::unique_ptr<Device>> inner_;
  std::vector<std::unique_ptr<Device>> waiting_;  // devices whose daemon is not started yet
  std::vector<ForwardingDevice*> at_;
  std::vector<std::unique_ptr<InProcessDaemon>> daemons_;
  std::vector<std::unique_ptr<client::RemoteDevice>> remote_;
};

class RingFabricTest : public testing::TestWithParam<Spread> {};

TEST_P(RingFabricTest, CallsGiveTheOriginalsResult) {
  auto random = fresh_random();
  int in_slabs = 0;
  std::uint64_t received = 0;
  for (const std::size_t devices : {2, 3, 4}) {
    Ring ring(GetParam(), devices);
    for (const bool small : {false, true}) {
      for (const Descriptor& routine : routines::all()) {
        if (!algorithms::can_be_factored(routine)) continue;
        const Problem given = random_work(routine, random, 160);
        Problem expected = given;
        run_original(expected);
        Problem actual = given;
        const FactorShape shape = algorithms::factor_shape(routine, actual.arguments);
        const double all =
            static_cast<double>(shape.rows()) * static_cast<double>(shape.n) * shape.element_bytes;
        // the stated memory of the devices; the connections stay open for many calls
        const auto tight = static_cast<std::uint64_t>(factor_memory_bytes(shape, 1, 0, 0) +
                                                      0.25 * all / static_cast<double>(devices));
        const bool solves = routine.base.ends_with("sv");  // its strips need more buffers
        const std::uint64_t least = tight + (solves ? 6 * 4096 : 0);
        const std::uint64_t memory = small ? least : std::uint64_t{64} << 20;
        const std::uint64_t block = std::min(algorithms::default_block(shape, memory),
                                             uniform<std::uint64_t>(random, 1, 30));
        SCOPED_TRACE(given.text() + " nb=" + std::to_string(block) + " on " +
                     std::to_string(devices) + " of " + std::to_string(memory));
        const auto exchange = ring.exchange(1024, memory);
        ASSERT_TRUE(exchange.ok()) << exchange.status().message();
        const auto ranks = (*exchange)->model().ranks;
        const auto distribution = algorithms::distribute_columns(shape, ranks, {devices, block});
        if (shape.n < devices || !distribution) continue;
        if (distribution->slabs() > 1) ++in_slabs;
        algorithms::CallTimings timings;
        const Status status = algorithms::offload_factorization(
            **exchange, routine, actual.arguments, {devices, block}, timings);
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_EQ(difference(given, expected, actual), "");
        for (std::size_t at = 0; at < devices; ++at)
          received += (*exchange)->traffic(algorithms::Rank(at)).received;
      }
    }
  }
  EXPECT_GT(received, 1 << 20);
  EXPECT_GT(in_slabs, 12);  // at least 12 of 60; some matrices are small or narrow
}

constexpr std::uint64_t kOrder = 48;

// Factors a definite matrix with Cholesky or LU through a call of the program.
Status factor(const char* name, algorithms::PanelExchange& exchange, FactorMatrix& a) {
  const Descriptor& routine = *routines::find(std::string_view(name));
  std::vector<std::int64_t> pivots(kOrder);
  std::int64_t info = -7;
  char lower = 'L';
  std::vector<Argument> arguments(routine.kinds.size());
  std::size_t i = 0;
  if (std::string_view(name) == "dpotrf") arguments[i++].flag = lower;
  arguments[i++].dim = kOrder;
  if (std::string_view(name) == "dgetrf") arguments[i++].dim = kOrder;
  arguments[i++].host = a.operand();
  if (std::string_view(name) == "dgetrf") arguments[i++].host = {pivots.data(), 0};
  arguments[i].host = {&info, 0};
  algorithms::CallTimings timings;
  return algorithms::offload_factorization(exchange, routine, arguments.data(),
                                           {exchange.size(), 5}, timings);
}

// A failure of any operation of a daemon's device ends the call in bounded time, and the matrix is
// unchanged. The same connections serve the next call.
TEST_P(RingFabricTest, AFailureOfAnyOperationEndsTheCallAndNotTheRing) {
  auto random = fresh_random();
  FactorMatrix given(Precision::d, kOrder, kOrder, kOrder + 1);
  given.fill_definite(random);
  Ring ring(GetParam(), 3);
  const bool slow = GetParam() == Spread::hidden;  // failures of forwarding are reported late
  for (const auto& [name, route] :
       {std::pair("dpotrf", Route::ring), std::pair("dgetrf", Route::ring),
        std::pair("dgetrf", Route::relay)}) {
    FactorMatrix expected = given;
    {
      const auto exchange = ring.exchange(512, 0, route);
      ASSERT_TRUE(exchange.ok()) << exchange.status().message();
      ASSERT_TRUE(factor(name, **exchange, expected).ok());
    }
    for (const std::size_t victim : {0, 1, 2}) {
      int failures = 0;
      for (int n = 1;; n += uniform(random, 1, slow ? 15 : 5)) {
        SCOPED_TRACE(std::string(name) + ", operation " + std::to_string(n) + " of device " +
                     std::to_string(victim));
        FactorMatrix a = given;
        ring.at(victim).fail_operation(n, Status(Code::device_error, "injected"));
        const auto start = Clock::now();
        auto exchange = ring.exchange(512, 0, route);
        const Status status = exchange.ok() ? factor(name, **exchange, a) : exchange.status();
        if (exchange.ok()) exchange->reset();
        const bool failed = ring.at(victim).operations() >= n;
        ring.at(victim).fail_operation(0, {});
        ASSERT_LT(Clock::now() - start, std::chrono::seconds(20));
        if (status.ok()) {
          // a failure without effect, for example of freeing a buffer
          ASSERT_TRUE(a == expected);
          if (!failed) break;
        } else {
          ++failures;
          ASSERT_TRUE(a == given) << status.message();
        }
      }
      EXPECT_GT(failures, 3) << name << " on " << victim;
    }
  }
}

TEST(RingExchange, ADaemonThatEndsEndsTheCall) {
  auto random = fresh_random();
  FactorMatrix given(Precision::d, kOrder, kOrder, kOrder);
  given.fill_definite(random);
  for (int round = 0; round < 6; ++round) {
    Ring ring(Spread::each_its_own, 3);
    std::thread end([&, victim = round % 3, pause = uniform(random, 0, 20)] {
      std::this_thread::sleep_for(std::chrono::milliseconds(pause));
      ring.daemon(victim).stop();
    });
    const auto start = Clock::now();
    Status status;
    while (status.ok() && Clock::now() - start < std::chrono::seconds(20)) {
      FactorMatrix a = given;
      const auto exchange = ring.exchange(512);
      status = exchange.ok() ? factor("dgetrf", **exchange, a) : exchange.status();
      if (!status.ok()) {
        EXPECT_TRUE(a == given);
      }
    }
    end.join();
    EXPECT_FALSE(status.ok());
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
  }
}

TEST(RingExchange, MeasuresTheWayToTheNextDevice) {
  Ring ring(Spread::mixed, 3);
  const auto exchange = require(RingExchange::create(ring.devices(), {}));
  for (std::size_t at = 0; at < 3; ++at) {
    const auto rate = exchange->measure(algorithms::Rank(at), 1 << 20);
    ASSERT_TRUE(rate.ok()) << rate.status().message();
    EXPECT_GT(*rate, 1e6);
    EXPECT_LT(*rate, 1e12);
  }
}

TEST(RingExchange, NeedsDevicesThatCanBeReached) {
  const auto devices = cpu_devices(2);
  EXPECT_EQ(RingExchange::create(devices, {}).status().code(), Code::unsupported);
  // daemons reach each other over TCP only
  DeviceAt one_place(Place::shm);
  DeviceAt other(Place::shm);
  auto first = require(client::RemoteDevice::open(one_place.daemon()->address(), {}));
  auto second = require(client::RemoteDevice::open(other.daemon()->address(), {}));
  const std::vector<Device*> apart{first.get(), second.get()};
  for (int i = 0; i < 2; ++i) {  // the second attempt fails at once
    EXPECT_EQ(RingExchange::create(apart, {}).status().code(), Code::unsupported);
  }
}

INSTANTIATE_TEST_SUITE_P(over, RingFabricTest,
                         testing::Values(Spread::one_daemon, Spread::each_its_own, Spread::hidden,
                                         Spread::mixed, Spread::shared_memory),
                         spread_name);

}  // namespace
}  // namespace ob::test
