// Connections of one session that make links at the same time.

#include "daemon/peers/session_peers.hpp"

#include <atomic>
#include <barrier>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "daemon/memory/resource_budget.hpp"
#include "support/in_process_daemon.hpp"
#include "support/unused_transport.hpp"

namespace ob::test {
namespace {

constexpr int kConnections = 8;
constexpr int kMostPeers = 64;  // docs/wire.md, section 10

class SessionPeersTest : public testing::Test {
 protected:
  // Runs `body` on every connection at the same time.
  template <class Body>
  static void at_once(Body body) {
    std::barrier start(kConnections);
    std::vector<std::thread> connections;
    for (int i = 0; i < kConnections; ++i) {
      connections.emplace_back([&, i] {
        start.arrive_and_wait();
        body(static_cast<std::uint64_t>(i));
      });
    }
    for (std::thread& connection : connections) connection.join();
  }
  // Returns true if the link was added, and expects the code otherwise.
  bool add(std::uint64_t id, Code refusal) {
    const Status status = peers.add(PeerId{id}, std::make_unique<UnusedTransport>());
    EXPECT_TRUE(status.ok() || status.code() == refusal) << status.message();
    return status.ok();
  }

  std::unique_ptr<Device> device = null_device();
  static std::shared_ptr<daemon::ResourceAccount> account(const char* unit, std::uint64_t most) {
    return std::make_shared<daemon::ResourceBudget>(daemon::Resource{.unit = unit, .all = most})
        ->open("", most);
  }
  daemon::SessionPeers peers{*device, account("bytes", 1 << 20), account("threads", 100)};
};

TEST_F(SessionPeersTest, OneConnectionGetsAnId) {
  for (std::uint64_t id = 1; id <= 50; ++id) {
    std::atomic<int> added{0};
    at_once([&](std::uint64_t) { added += add(id, Code::protocol_error) ? 1 : 0; });
    EXPECT_EQ(added, 1);
    peers.remove(PeerId{id});
  }
}

TEST_F(SessionPeersTest, ConnectionsTogetherStayWithinTheLimit) {
  std::atomic<int> added{0};
  at_once([&](std::uint64_t connection) {
    for (std::uint64_t i = 0; i <= kMostPeers / kConnections; ++i) {
      added += add(1 + connection * kMostPeers + i, Code::denied) ? 1 : 0;
    }
  });
  EXPECT_EQ(added, kMostPeers);
}

}  // namespace
}  // namespace ob::test
