#include "backend/cpu/backend.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <vector>

namespace ob {
namespace {

// Computes C := A A for n x n matrices. All elements of A are `value`, so those of C are n value^2.
Status square(Device& device, std::int64_t n, double value, double& worst) {
  const QueueId queue = device.create_queue().value();
  const std::uint64_t bytes = static_cast<std::uint64_t>(n * n) * 8;
  const BufferId a = device.allocate(bytes).value();
  const BufferId c = device.allocate(bytes).value();
  std::vector<double> host(static_cast<std::size_t>(n * n), value);
  const Region all{.rows = bytes, .cols = 1, .ld = bytes};
  Status status = device.write(queue, a, all, Layout::bytes(host.data(), bytes));
  Argument arguments[kMaxArguments];
  arguments[0].flag = arguments[1].flag = 'N';
  for (const int i : {2, 3, 4}) arguments[i].dim = n;
  arguments[5].scalar = {1, 0};
  arguments[8].scalar = {0, 0};
  arguments[6].device = arguments[7].device = {a, 0, n};
  arguments[9].device = {c, 0, n};
  if (status.ok()) status = device.call(queue, *routines::find("dgemm"), arguments);
  if (status.ok()) status = device.read(queue, c, all, Layout::bytes(host.data(), bytes));
  const QueueReport report = device.synchronize(queue);
  for (const double x : host)
    worst = std::max(worst, std::abs(x - static_cast<double>(n) * value * value));
  (void)device.free(a);
  (void)device.free(c);
  (void)device.destroy_queue(queue);
  return status.ok() ? report.status : status;
}

class CpuBackendTest : public testing::Test {
 protected:
  void TearDown() override { unsetenv("OUTBOARD_BLAS"); }
};

TEST_F(CpuBackendTest, DescribesItself) {
  const auto device = cpu::create({.memory_bytes = 1 << 20, .threads = 1});
  ASSERT_TRUE(device.ok()) << device.status().message();
  const DeviceInfo& info = device.value()->info();
  EXPECT_EQ(info.backend, "cpu");
  EXPECT_EQ(info.memory_bytes, 1u << 20);
  EXPECT_TRUE(info.host_visible);
  EXPECT_NE(info.description.find("1 thread"), std::string::npos) << info.description;
}

TEST_F(CpuBackendTest, HasTheRateThatWasMeasuredForAnotherDevice) {
  const auto device = cpu::create({.memory_bytes = 1 << 20, .threads = 1, .gflops_double = 123});
  ASSERT_TRUE(device.ok()) << device.status().message();
  EXPECT_EQ(device.value()->info().gflops_double, 123);
}

TEST_F(CpuBackendTest, RefusesSenselessConfigurations) {
  EXPECT_EQ(cpu::create({.index = 2, .devices = 2}).status().code(), Code::invalid_argument);
  EXPECT_EQ(cpu::create({.devices = 0}).status().code(), Code::invalid_argument);
}

TEST_F(CpuBackendTest, WithoutABlasCallsAreUnsupportedAndTransformsWork) {
  setenv("OUTBOARD_BLAS", "/nonexistent/libblas.so", 1);
  auto made = cpu::create({.memory_bytes = 1 << 20});
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made.value()->info().gflops_double, 0);
  double worst = 0;
  const Status status = square(**made, 4, 1.0, worst);
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_NE(status.message().find("/nonexistent/libblas.so"), std::string::npos)
      << status.message();
}

TEST_F(CpuBackendTest, DevicesComputeAtOnceWithAnyNumberOfThreads) {
  for (const unsigned threads : {1u, 2u, 3u}) {
    std::vector<std::unique_ptr<Device>> devices;
    for (unsigned i = 0; i < 3; ++i) {
      auto made =
          cpu::create({.index = i, .devices = 3, .memory_bytes = 64 << 20, .threads = threads});
      ASSERT_TRUE(made.ok()) << made.status().message();
      devices.push_back(std::move(made).value());
    }
    std::vector<double> worst(6, 0);
    std::vector<Status> status(6);
    std::vector<std::thread> users;
    for (std::size_t u = 0; u < 6; ++u) {
      users.emplace_back([&, u] {
        for (const std::int64_t n : {8, 300, 40, 500}) {
          if (status[u].ok()) status[u] = square(*devices[u % 3], n, 0.5, worst[u]);
        }
      });
    }
    for (std::thread& user : users) user.join();
    for (std::size_t u = 0; u < 6; ++u) {
      EXPECT_TRUE(status[u].ok()) << status[u].message();
      EXPECT_EQ(worst[u], 0);  // small multiples of 1/4 are exact
    }
  }
}

}  // namespace
}  // namespace ob
