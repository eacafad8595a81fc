// Tests the failure of any operation of any device: the caller's memory is unchanged, no buffer
// remains, and no thread waits forever. Also tests that devices behind connections give the same
// factors.

#include "algorithms/factor/cholesky.hpp"
#include "algorithms/factor/factor_cases.hpp"
#include "algorithms/factor/lu.hpp"
#include "algorithms/factor/qr.hpp"
#include "algorithms/place.hpp"

namespace ob::test {
namespace {

using algorithms::HostExchange;

enum class Routine { cholesky, lu, qr };

// Runs the factorization and commits it if it succeeds.
Status run(Routine routine, HostExchange& exchange, FactorMatrix& a,
           const TestDistribution& distributed) {
  const std::uint64_t n = a.rows();
  const algorithms::ColumnDistribution distribution = distributed.of(n);
  if (routine == Routine::cholesky) {
    algorithms::CholeskyFactorization made(exchange, {Precision::d, true, n, a.operand()},
                                           distribution);
    OB_RETURN_IF_ERROR(made.run());
    return made.commit() == 0 ? Status() : Status(Code::internal, "info");
  }
  if (routine == Routine::lu) {
    algorithms::LuFactorization made(exchange, {Precision::d, n, n, a.operand()}, distribution);
    OB_RETURN_IF_ERROR(made.run());
    if (made.complete() != 0) return Status(Code::internal, "info");
    made.commit();
    return {};
  }
  algorithms::QrFactorization made(exchange, {Precision::d, n, n, a.operand()}, distribution);
  OB_RETURN_IF_ERROR(made.run());
  std::vector<double> tau(n);
  made.commit(tau.data());
  return {};
}

double largest_difference(const FactorMatrix& x, const FactorMatrix& y) {
  double most = 0;
  for (std::uint64_t j = 0; j < x.cols(); ++j) {
    for (std::uint64_t i = 0; i < x.rows(); ++i) {
      most = std::max(most, std::abs(x.get(i, j) - y.get(i, j)));
    }
  }
  return most;
}

struct Way {
  Routine routine;
  bool in_slabs;
  TestDistribution distribution(std::size_t devices, std::uint64_t block) const {
    TestDistribution made{block, std::vector<double>(devices, 1.0)};
    if (in_slabs) made.most_columns = block;
    return made;
  }
};

class FactorFailure : public testing::TestWithParam<Way> {};

TEST_P(FactorFailure, OfAnyOperationLeavesTheCallersMemoryAndNothingElse) {
  auto random = fresh_random();
  constexpr std::uint64_t kOrder = 30;
  FactorMatrix given(Precision::d, kOrder, kOrder, kOrder + 1);
  given.fill_definite(random);
  for (const std::size_t victim : {0, 1, 2}) {
    const auto inner = cpu_devices(3);
    std::vector<std::unique_ptr<ForwardingDevice>> forwarding;
    std::vector<Device*> devices;
    for (Device* device : inner) {
      forwarding.push_back(std::make_unique<ForwardingDevice>(*device));
      devices.push_back(forwarding.back().get());
    }
    ForwardingDevice& failing = *forwarding[victim];
    int failures = 0;
    for (int n = 1;; ++n, ++failures) {
      FactorMatrix a = given;
      failing.fail_operation(n, Status(Code::device_error, "injected"));
      Status status;
      {
        const auto exchange = host_exchange(devices, 512);
        status = run(GetParam().routine, *exchange, a, GetParam().distribution(3, 4));
      }
      failing.fail_operation(0, {});
      for (const auto& device : forwarding) ASSERT_EQ(device->buffers(), 0);
      if (status.ok()) break;
      ASSERT_EQ(status.code(), Code::device_error) << status.message();
      ASSERT_TRUE(a == given) << "operation " << n << " of device " << victim << " failed";
    }
    EXPECT_GT(failures, 10);
  }
}

// Over a connection, a failed allocation is reported only after a later command has failed.
TEST_P(FactorFailure, ADeviceWithoutMemoryIsReportedAndNothingChanges) {
  auto random = fresh_random();
  FactorMatrix a(Precision::d, 60, 60, 60);
  a.fill_definite(random);
  const FactorMatrix given = a;
  for (const Place place : {Place::local, Place::tcp, Place::shm}) {
    // from no buffer to all buffers but one
    for (const std::uint64_t units : {0, 1, 2, 3}) {
      DeviceAt small(place, cpu_device(units * 4096 + 4095));
      for (const bool first : {false, true}) {
        std::vector<Device*> devices = cpu_devices(2);
        devices.insert(first ? devices.begin() : devices.end(), &small.device());
        const auto exchange = host_exchange(devices, 512);
        const Status status = run(GetParam().routine, *exchange, a, GetParam().distribution(3, 8));
        ASSERT_EQ(status.code(), Code::out_of_memory)
            << units << " units at " << static_cast<int>(place) << ": " << status.message();
        ASSERT_TRUE(a == given);
      }
    }
  }
}

TEST_P(FactorFailure, DevicesBehindConnectionsGiveTheSameFactors) {
  auto random = fresh_random();
  FactorMatrix given(Precision::d, 75, 75, 77);
  given.fill_definite(random);
  FactorMatrix expected = given;
  const auto one = host_exchange(cpu_devices(1), 512);
  ASSERT_TRUE(run(GetParam().routine, *one, expected, TestDistribution{16}).ok());
  DeviceAt tcp(Place::tcp);
  DeviceAt shm(Place::shm);
  DeviceAt local(Place::local);
  std::vector<Device*> devices{&tcp.device(), &shm.device(), &local.device()};
  FactorMatrix a = given;
  const auto exchange = host_exchange(devices, 512);
  const Status status = run(GetParam().routine, *exchange, a, GetParam().distribution(3, 8));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_LE(largest_difference(a, expected), 1e-9);
}

std::string way_name(const testing::TestParamInfo<Way>& param) {
  const std::string slabs = param.param.in_slabs ? "_in_slabs" : "";
  switch (param.param.routine) {
    case Routine::cholesky: return "cholesky" + slabs;
    case Routine::lu: return "lu" + slabs;
    case Routine::qr: return "qr" + slabs;
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(of, FactorFailure,
                         testing::Values(Way{Routine::cholesky, false}, Way{Routine::lu, false},
                                         Way{Routine::qr, false}, Way{Routine::cholesky, true},
                                         Way{Routine::lu, true}, Way{Routine::qr, true}),
                         way_name);

}  // namespace
}  // namespace ob::test
