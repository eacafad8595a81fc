// Any operation of any device may fail: the caller's memory stays, nothing is left behind, nobody
// waits for ever. Devices behind connections give the same factors.

#include "algorithms/factor_cases.hpp"
#include "algorithms/factor_cholesky.hpp"
#include "algorithms/factor_lu.hpp"
#include "algorithms/factor_qr.hpp"
#include "algorithms/place.hpp"

namespace ob::test {
namespace {

using algorithms::HostFabric;

enum class Routine { cholesky, lu, qr };

// Runs it, and commits if it succeeds.
Status run(Routine routine, HostFabric& fabric, FactorMatrix& a, std::uint64_t block) {
  const std::uint64_t n = a.rows();
  if (routine == Routine::cholesky) {
    algorithms::CholeskyFactorization made(fabric, {Precision::d, true, n, a.operand()}, block);
    OB_RETURN_IF_ERROR(made.run());
    return made.commit() == 0 ? Status() : Status(Code::internal, "info");
  }
  if (routine == Routine::lu) {
    algorithms::LuFactorization made(fabric, {Precision::d, n, n, a.operand()}, block);
    OB_RETURN_IF_ERROR(made.run());
    if (made.complete() != 0) return Status(Code::internal, "info");
    made.commit();
    return {};
  }
  algorithms::QrFactorization made(fabric, {Precision::d, n, n, a.operand()}, block);
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

class FactorFailure : public testing::TestWithParam<Routine> {};

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
        const auto fabric = host_fabric(devices, 512);
        status = run(GetParam(), *fabric, a, 7);
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

TEST_P(FactorFailure, ADeviceWithoutMemoryIsReportedAndNothingChanges) {
  auto random = fresh_random();
  FactorMatrix a(Precision::d, 60, 60, 60);
  a.fill_definite(random);
  const FactorMatrix given = a;
  const auto small = cpu_device(16 << 10);
  std::vector<Device*> devices = cpu_devices(2);
  devices.push_back(small.get());
  const auto fabric = host_fabric(devices, 512);
  EXPECT_EQ(run(GetParam(), *fabric, a, 8).code(), Code::out_of_memory);
  EXPECT_TRUE(a == given);
}

TEST_P(FactorFailure, DevicesBehindConnectionsGiveTheSameFactors) {
  auto random = fresh_random();
  FactorMatrix given(Precision::d, 75, 75, 77);
  given.fill_definite(random);
  FactorMatrix expected = given;
  const auto one = host_fabric(cpu_devices(1), 512);
  ASSERT_TRUE(run(GetParam(), *one, expected, 16).ok());
  DeviceAt tcp(Place::tcp);
  DeviceAt shm(Place::shm);
  DeviceAt local(Place::local);
  std::vector<Device*> devices{&tcp.device(), &shm.device(), &local.device()};
  FactorMatrix a = given;
  const auto fabric = host_fabric(devices, 512);
  const Status status = run(GetParam(), *fabric, a, 16);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_LE(largest_difference(a, expected), 1e-9);
}

std::string routine_name(const testing::TestParamInfo<Routine>& param) {
  switch (param.param) {
    case Routine::cholesky: return "cholesky";
    case Routine::lu: return "lu";
    case Routine::qr: return "qr";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(of, FactorFailure,
                         testing::Values(Routine::cholesky, Routine::lu, Routine::qr),
                         routine_name);

}  // namespace
}  // namespace ob::test
