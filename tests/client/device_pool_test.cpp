#include "client/device_pool.hpp"

#include <thread>

#include "support/in_process_daemon.hpp"

namespace ob::client {
namespace {

using test::InProcessDaemon;
using test::Transport;

DevicePool::Config config_of(std::vector<std::string> servers) {
  DevicePool::Config config;
  config.servers = std::move(servers);
  config.connection.patience.connect_ms = 500;
  return config;
}

class DevicePoolTest : public testing::TestWithParam<Transport> {};

TEST_P(DevicePoolTest, ConnectionsAreUsedAgainAndMeasured) {
  InProcessDaemon daemon(GetParam());
  DevicePool pool(config_of({daemon.address()}));
  EXPECT_FALSE(pool.link(0).known());
  std::uint64_t id = 0;
  {
    auto lease = pool.lease();
    ASSERT_TRUE(lease.ok()) << lease.status().message();
    id = lease->connection_id();
    auto second = pool.lease();
    ASSERT_TRUE(second.ok());
    EXPECT_NE(second->connection_id(), id);
  }
  EXPECT_TRUE(pool.link(0).known());
  EXPECT_GT(pool.link(0).round_trip_s, 0);
  EXPECT_EQ(pool.device_info(0).backend, "null");
  auto again = pool.lease();
  ASSERT_TRUE(again.ok());
  EXPECT_LE(again->connection_id(), id + 1);
}

TEST_P(DevicePoolTest, MoreThanAllowedAreRefused) {
  InProcessDaemon daemon(GetParam());
  auto config = config_of({daemon.address()});
  config.max_connections = 1;
  DevicePool pool(config);
  {
    auto lease = pool.lease();
    ASSERT_TRUE(lease.ok());
    EXPECT_EQ(pool.lease().status().code(), Code::unavailable);
  }
  EXPECT_TRUE(pool.lease().ok());
}

TEST_P(DevicePoolTest, ADeadServerIsSetAsideAndTheNextTaken) {
  InProcessDaemon gone(GetParam());
  const std::string dead = gone.address();
  gone.stop();
  InProcessDaemon alive(GetParam());
  DevicePool pool(config_of({dead, alive.address()}));
  auto lease = pool.lease();
  ASSERT_TRUE(lease.ok()) << lease.status().message();
  EXPECT_EQ(lease->server(), 1u);
  EXPECT_TRUE(pool.usable());
  DevicePool hopeless(config_of({dead}));
  EXPECT_FALSE(hopeless.lease().ok());
  EXPECT_FALSE(hopeless.usable());
  EXPECT_EQ(hopeless.lease().status().code(), Code::unavailable);
}

TEST_P(DevicePoolTest, ABrokenConnectionTakesItsIdleBrothersAlong) {
  InProcessDaemon daemon(GetParam());
  auto config = config_of({daemon.address()});
  config.max_connections = 3;
  config.retry_after_ms = 0;
  DevicePool pool(config);
  {
    auto a = pool.lease();
    auto b = pool.lease();
    auto c = pool.lease();
    ASSERT_TRUE(a.ok() && b.ok() && c.ok());
    c->device().abandon();
  }
  std::vector<Lease> all;
  for (int i = 0; i < 3; ++i) {  // the count of open connections is right
    auto lease = pool.lease();
    ASSERT_TRUE(lease.ok()) << lease.status().message();
    all.push_back(std::move(*lease));
  }
  EXPECT_FALSE(pool.lease().ok());
}

TEST_P(DevicePoolTest, ThreadsLeaseAtOnce) {
  InProcessDaemon daemon(GetParam());
  DevicePool pool(config_of({daemon.address()}));
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 30; ++i) {
        auto lease = pool.lease();
        if (lease.ok() && lease->device().synchronize(lease->queue()).status.ok()) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 120);
}

TEST(DevicePool, WithoutServersThereIsNothingToLease) {
  DevicePool pool(config_of({}));
  EXPECT_FALSE(pool.usable());
  EXPECT_EQ(pool.lease().status().code(), Code::unavailable);
}

INSTANTIATE_TEST_SUITE_P(over, DevicePoolTest, testing::Values(Transport::tcp, Transport::shm),
                         test::name);

}  // namespace
}  // namespace ob::client
