// Calls do not wait for servers that are slow to answer, or gone.

#include "offload/connector.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "support/in_process_daemon.hpp"
#include "transport/stream.hpp"

namespace ob::offload {
namespace {

using std::chrono::milliseconds;
using test::InProcessDaemon;
using test::require;
using test::Transport;

// Long enough for every machine; nothing waits for its end.
constexpr milliseconds kLong{60'000};
// A call that takes no time here can afford no wait.
constexpr double kNoTime = 0;

// When a silent server is given up, and when it is tried again.
struct Delays {
  int connect_ms = 60'000;
  int retry_after_ms = 1;
};
constexpr Delays kGivesUp{500, 60'000};

// Everything that a connector needs.
class Client {
 public:
  explicit Client(const std::string& server, milliseconds first_wait, Delays delays = {})
      : config_(config_of(server)),
        journal_(config_),
        connections_(connections_of(config_, delays)),
        tuning_(config_, connections_),
        connector_(connections_, tuning_, journal_, budget_, first_wait) {}

  // Asks until the server is reached, or a minute has passed.
  ReachedServer reach_at_last(Need need) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    ReachedServer reached;
    while (reached.facts == nullptr && std::chrono::steady_clock::now() < deadline) {
      reached = connector_.reach_in_background(0, need, kNoTime);
      std::this_thread::yield();
    }
    return reached;
  }

  // The number of the buffer that is allocated next. Later ones are new ones, too.
  std::uint64_t next_buffer() {
    auto idle = connections_.borrow_idle(0);
    EXPECT_TRUE(idle->device().drop_cached_buffers().ok());
    return require(idle.value().device().allocate(1 << 20)).value;
  }

  Connector& operator*() { return connector_; }
  Connector* operator->() { return &connector_; }
  client::ConnectionCache& connections() { return connections_; }
  const policy::LossBudget& budget() const { return budget_; }

 private:
  static Config config_of(const std::string& server) {
    Config config;
    config.servers = {server};
    config.quiet = true;
    return config;
  }
  static client::ConnectionCache::Config connections_of(const Config& config, Delays delays) {
    client::ConnectionCache::Config wanted;
    wanted.servers = config.servers;
    wanted.connection.timeouts.connect_ms = delays.connect_ms;
    wanted.retry_after_ms = delays.retry_after_ms;
    wanted.measure_links = false;
    return wanted;
  }

  const Config config_;
  Journal journal_;
  client::ConnectionCache connections_;
  Tuning tuning_;
  policy::LossBudget budget_;
  Connector connector_;
};

// Accepts connections, as the system does for a stopped daemon, and never answers.
class SilentServer {
 public:
  std::string address() const { return listener_->address(); }

 private:
  std::unique_ptr<transport::Listener> listener_{require(transport::listen("127.0.0.1:0"))};
};

TEST(Connector, TheFirstCallsWaitForTheFirstConnection) {
  InProcessDaemon daemon(Transport::tcp);
  Client client(daemon.address(), kLong);
  const ReachedServer reached = client->reach_in_background(0, Need::link, kNoTime);
  ASSERT_NE(reached.facts, nullptr);
  EXPECT_TRUE(reached.facts->link().known());
  EXPECT_GT(client.budget().lost_s(), 0);
}

TEST(Connector, OtherCallsGoOnUntilTheServerIsReached) {
  InProcessDaemon daemon(Transport::tcp);
  Client client(daemon.address(), milliseconds(0));
  // A thread that was just started has connected nothing yet, or it was very fast.
  (void)client->reach_in_background(0, Need::facts, kNoTime);
  const ReachedServer reached = client.reach_at_last(Need::link);
  ASSERT_NE(reached.facts, nullptr);
  EXPECT_TRUE(reached.facts->link().known());
}

// The first measurement may have met a busy machine.
TEST(Connector, LinksAreMeasuredAgain) {
  InProcessDaemon daemon(Transport::tcp);
  Client client(daemon.address(), kLong);
  const ServerFacts* const facts = client->reach_in_background(0, Need::link, kNoTime).facts;
  ASSERT_NE(facts, nullptr);
  const Link& first = facts->link();
  const double first_rate = first.to_bytes_per_s;
  std::string measured_after;
  for (const double spent_s : {0.4, 0.6, 1.9, 2.1, 7.9, 8.1, 1e9}) {
    const std::uint64_t before = client.next_buffer();
    client->measure_again(0, spent_s);
    client->wait();
    // A measurement has buffers of its own.
    if (client.next_buffer() > before + 1) measured_after += std::to_string(spent_s) + " ";
  }
  EXPECT_EQ(measured_after, "0.600000 2.100000 8.100000 ");
  EXPECT_TRUE(facts->link().known());
  EXPECT_EQ(first.to_bytes_per_s, first_rate);  // a decision may still use it
}

// The device of this daemon computes on the client's own processors. Whether it can gain depends on
// the library of the call, so the link is measured only when it is needed.
TEST(Connector, LinksToTheOwnProcessorsAreMeasuredOnDemand) {
  InProcessDaemon daemon(Transport::shm, test::one(require(cpu::create({.threads = 1}))));
  Client client(daemon.address(), kLong);
  const ReachedServer reached = client->reach_in_background(0, Need::facts, kNoTime);
  ASSERT_NE(reached.facts, nullptr);
  ASSERT_TRUE(reached.facts->on_own_processors);
  EXPECT_FALSE(reached.facts->link().known());
  EXPECT_NE(client->reach_in_background(0, Need::link, kNoTime).facts, nullptr);
  EXPECT_TRUE(reached.facts->link().known());
}

TEST(Connector, NoCallWaitsForAServerThatNeverAnswers) {
  const SilentServer server;
  Client client(server.address(), milliseconds(0), kGivesUp);
  // The thread needs half a second. These calls are over long before, or the machine is very slow:
  // then the server is set aside. None of them finds a server.
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(client->reach_in_background(0, Need::facts, kNoTime).facts, nullptr);
  }
  EXPECT_FALSE(client.connections().is_reached(0));
}

// A call of days can wait for the half second that the failure takes.
TEST(Connector, ALongCallWaitsForAPartOfItsTime) {
  const SilentServer server;
  Client client(server.address(), milliseconds(0), kGivesUp);
  EXPECT_EQ(client->reach_in_background(0, Need::facts, 1e6).facts, nullptr);
  EXPECT_TRUE(client.connections().is_set_aside(0));
}

TEST(Connector, CallsThatCanGoOutLaterWaitForAPart) {
  const milliseconds whole{20};
  EXPECT_EQ(first_wait(whole, 0), whole);
  EXPECT_EQ(first_wait(whole, 4.9e-3), whole);  // it keeps its side
  EXPECT_EQ(first_wait(whole, 0.0625), std::chrono::microseconds(6250));
  EXPECT_EQ(first_wait(whole, 0.2), whole);
  EXPECT_EQ(first_wait(whole, 1e6), whole);
  EXPECT_EQ(first_wait(milliseconds(0), 0.1), milliseconds(0));
}

TEST(Connector, AServerThatFailedIsReachedAgainInTheBackground) {
  auto daemon = std::make_unique<InProcessDaemon>(Transport::tcp);
  const std::string address = daemon->address();
  Client client(address, kLong);
  ASSERT_NE(client->reach_in_background(0, Need::link, kNoTime).facts, nullptr);
  {
    auto acquired = client.connections().acquire();
    ASSERT_TRUE(acquired.ok());
    acquired->device().abandon();
    client.connections().report_failure(*acquired);
  }
  // This failure counts only for a new connection, so a second one follows.
  {
    auto acquired = client.connections().acquire();
    ASSERT_TRUE(acquired.ok());
    acquired->device().abandon();
    client.connections().report_failure(*acquired);
  }
  EXPECT_FALSE(client.connections().is_reached(0));
  EXPECT_NE(client.reach_at_last(Need::link).facts, nullptr);
  EXPECT_TRUE(client.connections().is_reached(0));
}

TEST(Connector, NothingStartsAfterTheEnd) {
  InProcessDaemon daemon(Transport::tcp);
  Client client(daemon.address(), kLong);
  client->close();
  EXPECT_EQ(client->reach_in_background(0, Need::facts, kNoTime).facts, nullptr);
  EXPECT_FALSE(client.connections().is_reached(0));
}

}  // namespace
}  // namespace ob::offload
