#include "client/device_pool.hpp"

#include <set>
#include <thread>
#include <utility>

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

std::vector<std::unique_ptr<Device>> null_devices(int count) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) devices.push_back(test::null_device());
  return devices;
}

using Pair = std::pair<std::size_t, std::uint32_t>;

std::set<Pair> pairs_of(const Lease& first, const std::vector<Lease>& others) {
  std::set<Pair> pairs{{first.server(), first.device_index()}};
  for (const Lease& other : others) pairs.insert({other.server(), other.device_index()});
  return pairs;
}

TEST_P(DevicePoolTest, OthersAreOtherDevices) {
  InProcessDaemon two(GetParam(), null_devices(2));
  InProcessDaemon three(GetParam(), null_devices(3));
  DevicePool pool(config_of({two.address(), three.address()}));
  auto first = pool.lease();
  ASSERT_TRUE(first.ok());
  {
    const auto one = pool.lease_others(*first, 1);
    ASSERT_EQ(one.size(), 1u);
    EXPECT_EQ(one[0].server(), 1u) << "servers take turns";
  }
  for (int again = 0; again < 3; ++again) {
    const auto others = pool.lease_others(*first, 9);
    EXPECT_EQ(others.size(), 4u);
    EXPECT_EQ(pairs_of(*first, others).size(), 5u);
    for (const Lease& other : others) EXPECT_LE(other.connection_id(), 5u) << "not used again";
  }
}

TEST_P(DevicePoolTest, OthersOfServersThatAreThere) {
  InProcessDaemon gone(GetParam());
  const std::string dead = gone.address();
  gone.stop();
  InProcessDaemon two(GetParam(), null_devices(2));
  for (const int retry_after_ms : {0, 60000}) {
    auto config = config_of({two.address(), dead});
    config.retry_after_ms = retry_after_ms;
    DevicePool pool(config);
    auto first = pool.lease();
    ASSERT_TRUE(first.ok());
    const auto others = pool.lease_others(*first, 3);
    ASSERT_EQ(others.size(), 1u);
    EXPECT_EQ(others[0].server(), 0u);
    EXPECT_NE(others[0].device_index(), first->device_index());
  }
}

TEST_P(DevicePoolTest, OthersAreNoMoreThanConnectionsMayBe) {
  InProcessDaemon daemon(GetParam(), null_devices(4));
  auto config = config_of({daemon.address()});
  config.max_connections = 2;
  DevicePool pool(config);
  auto first = pool.lease();
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(pool.lease_others(*first, 3).size(), 1u);
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
