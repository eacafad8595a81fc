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
  config.connection.timeouts.connect_ms = 20'000;
  return config;
}

class ConnectionCacheTest : public testing::TestWithParam<Transport> {};

TEST_P(ConnectionCacheTest, ConnectionsAreUsedAgainAndMeasured) {
  InProcessDaemon daemon(GetParam());
  ConnectionCache cache(config_of({daemon.address()}));
  EXPECT_FALSE(cache.link(0).known());
  std::uint64_t id = 0;
  {
    auto acquired = cache.acquire();
    ASSERT_TRUE(acquired.ok()) << acquired.status().message();
    id = acquired->connection_id();
    auto second = cache.acquire();
    ASSERT_TRUE(second.ok());
    EXPECT_NE(second->connection_id(), id);
  }
  EXPECT_TRUE(cache.link(0).known());
  EXPECT_GT(cache.link(0).round_trip_s, 0);
  EXPECT_EQ(cache.device_info(0).backend, "null");
  auto again = cache.acquire();
  ASSERT_TRUE(again.ok());
  EXPECT_LE(again->connection_id(), id + 1);
}

// Nothing makes transfers faster than the link, so the faster measurement counts.
TEST(FasterLink, IsThatOfTheShorterTransfers) {
  const auto link_of = [](double bytes_per_s, double fresh_s_per_byte) {
    Link link;
    link.round_trip_s = 1e-5;
    link.to_bytes_per_s = link.from_bytes_per_s = bytes_per_s;
    link.fresh_s_per_byte = fresh_s_per_byte;
    return link;
  };
  const Link busy = link_of(1e8, 1e-10);
  const Link idle = link_of(1e9, 3e-10);
  EXPECT_EQ(faster_of(busy, idle).to_bytes_per_s, 1e9);
  EXPECT_EQ(faster_of(idle, busy).to_bytes_per_s, 1e9);
  EXPECT_EQ(faster_of(busy, idle).fresh_s_per_byte, 1e-10);
  EXPECT_EQ(faster_of(idle, busy).fresh_s_per_byte, 3e-10);
}

TEST_P(ConnectionCacheTest, ABorrowedConnectionIsWaitedFor) {
  InProcessDaemon daemon(GetParam());
  ConnectionCache cache(config_of({daemon.address()}));
  EXPECT_FALSE(cache.borrow_idle(0));  // makes no connection
  std::uint64_t id = 0;
  {
    auto acquired = cache.acquire();
    ASSERT_TRUE(acquired.ok());
    id = acquired->connection_id();
  }
  auto borrowed = cache.borrow_idle(0);
  ASSERT_TRUE(borrowed);
  // It does not come back: another connection is made after a moment.
  EXPECT_NE(cache.acquire()->connection_id(), id);
  std::thread returns([&borrowed] { borrowed.reset(); });
  returns.join();
  auto again = cache.borrow_idle(0);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->connection_id(), id);  // the one that was used last
}

TEST_P(ConnectionCacheTest, MoreThanAllowedAreRefused) {
  InProcessDaemon daemon(GetParam());
  auto config = config_of({daemon.address()});
  config.max_connections = 1;
  ConnectionCache cache(config);
  {
    auto acquired = cache.acquire();
    ASSERT_TRUE(acquired.ok());
    EXPECT_EQ(cache.acquire().status().code(), Code::unavailable);
  }
  EXPECT_TRUE(cache.acquire().ok());
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

TEST_P(ConnectionCacheTest, OthersAreOtherDevices) {
  InProcessDaemon two(GetParam(), null_devices(2));
  InProcessDaemon three(GetParam(), null_devices(3));
  ConnectionCache cache(config_of({two.address(), three.address()}));
  auto first = cache.acquire();
  ASSERT_TRUE(first.ok());
  {
    const auto one = cache.acquire_others(*first, 1);
    ASSERT_EQ(one.size(), 1u);
    EXPECT_EQ(one[0].server(), 1u) << "servers take turns";
  }
  for (int again = 0; again < 3; ++again) {
    const auto others = cache.acquire_others(*first, 9);
    EXPECT_EQ(others.size(), 4u);
    EXPECT_EQ(pairs_of(*first, others).size(), 5u);
    for (const AcquiredDevice& other : others)
      EXPECT_LE(other.connection_id(), 5u) << "not used again";
  }
}

TEST_P(ConnectionCacheTest, OthersOfServersThatAreThere) {
  InProcessDaemon gone(GetParam());
  const std::string dead = gone.address();
  InProcessDaemon two(GetParam(), null_devices(2));  // before the port of the other one is free
  gone.stop();
  for (const int retry_after_ms : {0, 60000}) {
    auto config = config_of({two.address(), dead});
    config.retry_after_ms = retry_after_ms;
    ConnectionCache cache(config);
    auto first = cache.acquire();
    ASSERT_TRUE(first.ok());
    const auto others = cache.acquire_others(*first, 3);
    ASSERT_EQ(others.size(), 1u);
    EXPECT_EQ(others[0].server(), 0u);
    EXPECT_NE(others[0].device_index(), first->device_index());
  }
}

TEST_P(ConnectionCacheTest, OthersAreNoMoreThanConnectionsMayBe) {
  InProcessDaemon daemon(GetParam(), null_devices(4));
  auto config = config_of({daemon.address()});
  config.max_connections = 2;
  ConnectionCache cache(config);
  auto first = cache.acquire();
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(cache.acquire_others(*first, 3).size(), 1u);
}

TEST_P(ConnectionCacheTest, ADeadServerIsSetAsideAndTheNextTaken) {
  InProcessDaemon gone(GetParam());
  const std::string dead = gone.address();
  InProcessDaemon alive(GetParam());
  gone.stop();
  ConnectionCache cache(config_of({dead, alive.address()}));
  auto acquired = cache.acquire();
  ASSERT_TRUE(acquired.ok()) << acquired.status().message();
  EXPECT_EQ(acquired->server(), 1u);
  EXPECT_TRUE(cache.usable());
  ConnectionCache hopeless(config_of({dead}));
  EXPECT_FALSE(hopeless.acquire().ok());
  EXPECT_FALSE(hopeless.usable());
  EXPECT_EQ(hopeless.acquire().status().code(), Code::unavailable);
}

TEST_P(ConnectionCacheTest, ABrokenConnectionTakesItsIdleBrothersAlong) {
  InProcessDaemon daemon(GetParam());
  auto config = config_of({daemon.address()});
  config.max_connections = 3;
  config.retry_after_ms = 0;
  ConnectionCache cache(config);
  {
    auto a = cache.acquire();
    auto b = cache.acquire();
    auto c = cache.acquire();
    ASSERT_TRUE(a.ok() && b.ok() && c.ok());
    c->device().abandon();
  }
  std::vector<AcquiredDevice> all;
  for (int i = 0; i < 3; ++i) {  // the count of open connections is correct
    auto acquired = cache.acquire();
    ASSERT_TRUE(acquired.ok()) << acquired.status().message();
    all.push_back(std::move(*acquired));
  }
  EXPECT_FALSE(cache.acquire().ok());
}

TEST_P(ConnectionCacheTest, AReportedConnectionLeavesNewOnesAlone) {
  InProcessDaemon daemon(GetParam());
  auto config = config_of({daemon.address()});
  config.retry_after_ms = 0;
  ConnectionCache cache(config);
  std::uint64_t replacement_id = 0;
  {
    auto broken = cache.acquire();
    ASSERT_TRUE(broken.ok());
    broken->device().abandon();
    cache.report_failure(*broken);
    auto replacement = cache.acquire();
    ASSERT_TRUE(replacement.ok()) << replacement.status().message();
    replacement_id = replacement->connection_id();
  }  // the replacement returns first, then the broken connection
  auto again = cache.acquire();
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->connection_id(), replacement_id);
}

TEST_P(ConnectionCacheTest, ThreadsAcquireAtOnce) {
  InProcessDaemon daemon(GetParam());
  ConnectionCache cache(config_of({daemon.address()}));
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 30; ++i) {
        auto acquired = cache.acquire();
        if (acquired.ok() && acquired->device().synchronize(acquired->queue()).status.ok()) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 120);
}

TEST(ConnectionCache, WithoutServersNothingCanBeAcquired) {
  ConnectionCache cache(config_of({}));
  EXPECT_FALSE(cache.usable());
  EXPECT_EQ(cache.acquire().status().code(), Code::unavailable);
}

INSTANTIATE_TEST_SUITE_P(over, ConnectionCacheTest, testing::Values(Transport::tcp, Transport::shm),
                         test::name);

}  // namespace
}  // namespace ob::client
