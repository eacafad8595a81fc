// A dgemm on a daemon that is connected over UCX.

#include "backend/cpu/backend.hpp"
#include "client/remote_device.hpp"
#include "support/dgemm.hpp"
#include "support/in_process_daemon.hpp"
#include "support/random.hpp"

namespace ob::client {
namespace {

using test::require;

Layout bytes_of(std::vector<double>& values) {
  return Layout::bytes(reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(double));
}

TEST(OverUcx, ADgemmIsRight) {
  constexpr std::int64_t kN = 300;  // operands larger than one piece of the transport
  auto random = test::fresh_random();
  std::vector<double> a(kN * kN);
  std::vector<double> b(kN * kN);
  std::vector<double> c(kN * kN, -7);
  for (double& value : a) value = test::uniform(random, -9, 9);
  for (double& value : b) value = test::uniform(random, -9, 9);

  daemon::ServerConfig config;
  config.listen = {"ucx:127.0.0.1:0"};
  const auto server = require(daemon::Server::create(config, test::one(require(cpu::create({})))));
  ASSERT_EQ(server->addresses().front().rfind("ucx:127.0.0.1:", 0), 0u);
  const auto device = require(RemoteDevice::open(server->addresses().front()));
  const QueueId queue = require(device->create_queue());
  const std::size_t size_bytes = a.size() * sizeof(double);
  BufferId buffers[3];
  for (BufferId& buffer : buffers) buffer = require(device->allocate(size_bytes));
  const Region all{0, 1, Triangle::full, size_bytes, 1, size_bytes};
  ASSERT_TRUE(device->write(queue, buffers[0], all, bytes_of(a)).ok());
  ASSERT_TRUE(device->write(queue, buffers[1], all, bytes_of(b)).ok());
  Argument arguments[kMaxArguments];
  test::square_dgemm_on_device(kN, buffers[0], buffers[1], buffers[2], arguments);
  ASSERT_TRUE(device->call(queue, test::dgemm(), arguments).ok());
  ASSERT_TRUE(device->read(queue, buffers[2], all, bytes_of(c)).ok());
  const Status status = device->synchronize(queue).status;
  ASSERT_TRUE(status.ok()) << status.message();
  for (std::int64_t j = 0; j < kN; ++j) {
    for (std::int64_t i = 0; i < kN; ++i) {
      double sum = 0;  // a sum of small integers is exact in any order
      for (std::int64_t k = 0; k < kN; ++k)
        sum += a[static_cast<std::size_t>(i + k * kN)] * b[static_cast<std::size_t>(k + j * kN)];
      ASSERT_EQ(c[static_cast<std::size_t>(i + j * kN)], sum) << i << ", " << j;
    }
  }
}

}  // namespace
}  // namespace ob::client
