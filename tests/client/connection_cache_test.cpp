#include "client/connection_cache.hpp"

#include <set>
#include <thread>
#include <utility>

#include "support/in_process_daemon.hpp"

namespace ob::client {
namespace {

using test::InProcessDaemon;
using test::Transport;

ConnectionCache::Config config_of(std::vector<std::string> servers) {
  ConnectionCache::Config config;
  config.servers = std::move(servers);
  config.connection.patience.connect_ms = 500;
  return config;
}

class DevicePoolTest : public testing::TestWithParam<Transport> {};

TEST_P(DevicePoolTest, ConnectionsAreUsedAgainAndMeasured) {
  InProcessDaemon daemon(GetParam());
  ConnectionCache pool(config_of({daemon.address()}));
  EXPECT_FALSE(pool.link(0).known());
  std::uint64_t id = 0;
  {
    auto acquired = pool.acquire();
    ASSERT_TRUE(acquired.ok()) << acquired.status().message();
    id = acquired->connection_id();
    auto second = pool.acquire();
    ASSERT_TRUE(second.ok());
    EXPECT_NE(second->connection_id(), id);
  }
  EXPECT_TRUE(pool.link(0).known());
  EXPECT_GT(pool.link(0).round_trip_s, 0);
  EXPECT_EQ(pool.device_info(0).backend, "null");
  auto again = pool.acquire();
  ASSERT_TRUE(again.ok());
  EXPECT_LE(again->connection_id(), id + 1);
}

TEST_P(DevicePoolTest, MoreThanAllowedAreRefused) {
  InProcessDaemon daemon(GetParam());
  auto config = config_of({daemon.address()});
  config.max_connections = 1;
  ConnectionCache pool(config);
  {
    auto acquired = pool.acquire();
    ASSERT_TRUE(acquired.ok());
    EXPECT_EQ(pool.acquire().status().code(), Code::unavailable);
  }
  EXPECT_TRUE(pool.acquire().ok());
}

std::vector<std::unique_ptr<Device>> null_devices(int count) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) devices.push_back(test::null_device());
  return devices;
}

using Pair = std::pair<std::size_t, std::uint32_t>;

std::set<Pair> pairs_of(const AcquiredDevice& first, const std::vector<AcquiredDevice>& others) {
  std::set<Pair> pairs{{first.server(), first.device_index()}};
  for (const AcquiredDevice& other : others) pairs.insert({other.server(), other.device_index()});
  return pairs;
}

TEST_P(DevicePoolTest, OthersAreOtherDevices) {
  InProcessDaemon two(GetParam(), null_devices(2));
  InProcessDaemon three(GetParam(), null_devices(3));
  ConnectionCache pool(config_of({two.address(), three.address()}));
  auto first = pool.acquire();
  ASSERT_TRUE(first.ok());
  {
    const auto one = pool.acquire_others(*first, 1);
    ASSERT_EQ(one.size(), 1u);
    EXPECT_EQ(one[0].server(), 1u) << "servers take turns";
  }
  for (int again = 0; again < 3; ++again) {
    const auto others = pool.acquire_others(*first, 9);
    EXPECT_EQ(others.size(), 4u);
    EXPECT_EQ(pairs_of(*first, others).size(), 5u);
    for (const AcquiredDevice& other : others)
      EXPECT_LE(other.connection_id(), 5u) << "not used again";
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
    ConnectionCache pool(config);
    auto first = pool.acquire();
    ASSERT_TRUE(first.ok());
    const auto others = pool.acquire_others(*first, 3);
    ASSERT_EQ(others.size(), 1u);
    EXPECT_EQ(others[0].server(), 0u);
    EXPECT_NE(others[0].device_index(), first->device_index());
  }
}

TEST_P(DevicePoolTest, OthersAreNoMoreThanConnectionsMayBe) {
  InProcessDaemon daemon(GetParam(), null_devices(4));
  auto config = config_of({daemon.address()});
  config.max_connections = 2;
  ConnectionCache pool(config);
  auto first = pool.acquire();
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(pool.acquire_others(*first, 3).size(), 1u);
}

TEST_P(DevicePoolTest, ADeadServerIsSetAsideAndTheNextTaken) {
  InProcessDaemon gone(GetParam());
  const std::string dead = gone.address();
  gone.stop();
  InProcessDaemon alive(GetParam());
  ConnectionCache pool(config_of({dead, alive.address()}));
  auto acquired = pool.acquire();
  ASSERT_TRUE(acquired.ok()) << acquired.status().message();
  EXPECT_EQ(acquired->server(), 1u);
  EXPECT_TRUE(pool.usable());
  ConnectionCache hopeless(config_of({dead}));
  EXPECT_FALSE(hopeless.acquire().ok());
  EXPECT_FALSE(hopeless.usable());
  EXPECT_EQ(hopeless.acquire().status().code(), Code::unavailable);
}

TEST_P(DevicePoolTest, ABrokenConnectionTakesItsIdleBrothersAlong) {
  InProcessDaemon daemon(GetParam());
  auto config = config_of({daemon.address()});
  config.max_connections = 3;
  config.retry_after_ms = 0;
  ConnectionCache pool(config);
  {
    auto a = pool.acquire();
    auto b = pool.acquire();
    auto c = pool.acquire();
    ASSERT_TRUE(a.ok() && b.ok() && c.ok());
    c->device().abandon();
  }
  std::vector<AcquiredDevice> all;
  for (int i = 0; i < 3; ++i) {  // the count of open connections is right
    auto acquired = pool.acquire();
    ASSERT_TRUE(acquired.ok()) << acquired.status().message();
    all.push_back(std::move(*acquired));
  }
  EXPECT_FALSE(pool.acquire().ok());
}

TEST_P(DevicePoolTest, ThreadsLeaseAtOnce) {
  InProcessDaemon daemon(GetParam());
  ConnectionCache pool(config_of({daemon.address()}));
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 30; ++i) {
        auto acquired = pool.acquire();
        if (acquired.ok() && acquired->device().synchronize(acquired->queue()).status.ok()) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 120);
}

TEST(ConnectionCache, WithoutServersThereIsNothingToLease) {
  ConnectionCache pool(config_of({}));
  EXPECT_FALSE(pool.usable());
  EXPECT_EQ(pool.acquire().status().code(), Code::unavailable);
}

INSTANTIATE_TEST_SUITE_P(over, DevicePoolTest, testing::Values(Transport::tcp, Transport::shm),
                         test::name);

}  // namespace
}  // namespace ob::client
