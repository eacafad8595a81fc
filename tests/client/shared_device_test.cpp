// The end of the session of a SharedDevice whose lease is over.

#include <chrono>
#include <future>
#include <thread>

#include "client/shared_device.hpp"
#include "support/dgemm.hpp"
#include "support/in_process_daemon.hpp"

namespace ob::client {
namespace {

using test::InProcessDaemon;
using test::require;

class FenceTest : public testing::Test {
 protected:
  Code code_of_wait() { return device->synchronize(queue).status.code(); }

  InProcessDaemon daemon{test::Transport::tcp, test::one(test::null_device(32 << 20, 0.02))};
  std::unique_ptr<SharedDevice> device = require(SharedDevice::open(daemon.address()));
  QueueId queue = require(device->create_queue());
};

TEST_F(FenceTest, AllCommandsFail) {
  ASSERT_EQ(code_of_wait(), Code::ok);
  device->fence();
  EXPECT_EQ(code_of_wait(), Code::fenced);
  EXPECT_EQ(device->create_queue().status().code(), Code::fenced);
  EXPECT_EQ(device->allocate(64).status().code(), Code::fenced);
}

TEST_F(FenceTest, AThreadThatWaitsLearnsWhy) {
  constexpr std::int64_t n = 200;  // 200^3 / 10^7 s: far longer than the test waits
  const BufferId buffer = require(device->allocate(2 * n * n * sizeof(double)));
  Argument arguments[kMaxArguments];
  test::square_dgemm_in_buffer(n, buffer, arguments);
  ASSERT_TRUE(device->call(queue, test::dgemm(), arguments).ok());
  auto waits = std::async(std::launch::async, [&] { return code_of_wait(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  device->fence();
  EXPECT_EQ(waits.get(), Code::fenced);
}

TEST_F(FenceTest, TheReasonReplacesALostConnection) {
  daemon.stop();
  // An idle queue asks nobody, so the proxy notices the loss.
  for (int i = 0; i < 10'000 && code_of_wait() == Code::ok; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_EQ(code_of_wait(), Code::connection_lost);
  device->fence();
  EXPECT_EQ(code_of_wait(), Code::fenced);
  EXPECT_EQ(device->create_queue().status().code(), Code::fenced);
}

}  // namespace
}  // namespace ob::client
