// Clients that hold memory of a device, and clients that ask for it.

#include "daemon/memory/memory_share.hpp"

#include <chrono>
#include <thread>
#include <vector>

#include "support/in_process_daemon.hpp"
#include "support/raw_client.hpp"

namespace ob::test {
namespace {

using wire::Opcode;

constexpr QueueId kQueue{1};
constexpr std::uint64_t kMemoryBytes = 1 << 20;
constexpr std::uint64_t kMost = 700'000;  // two of them do not fit
// Longer than the pause after which the server counts a client as idle.
constexpr auto kIdle = std::chrono::milliseconds(700);

class MemoryShareTest : public testing::Test {
 protected:
  static std::unique_ptr<RawClient> connect(const std::string& address,
                                            const wire::Hello& hello = {}) {
    auto client = std::make_unique<RawClient>(address);
    client->shake_hands(hello);
    client->command(Opcode::create_queue, kQueue);
    return client;
  }
  std::unique_ptr<RawClient> connect(const wire::Hello& hello = {}) {
    return connect(server->addresses().front(), hello);
  }

  // Allocates a buffer and uses it.
  static Code have(RawClient& client, std::uint64_t id, std::uint64_t bytes) {
    client.command(Opcode::allocate, {}, wire::Allocate{BufferId{id}, bytes});
    const Region region{0, 1, Triangle::full, 8, 1, 8};
    client.command(Opcode::write, kQueue, wire::Write{BufferId{id}, region}, Bytes(8));
    return client.synchronize(kQueue).code;
  }
  static bool cut_off(RawClient& client) { return !client.receive().end.ok(); }

  static std::unique_ptr<daemon::Server> serve(std::uint64_t session_bytes = UINT64_MAX) {
    return require(daemon::Server::create(
        {.listen = {"127.0.0.1:0"}, .session = {.memory_bytes = session_bytes}},
        one(require(null::create({.memory_bytes = kMemoryBytes})))));
  }

  std::unique_ptr<daemon::Server> server = serve();
};

TEST_F(MemoryShareTest, ShrinksWithTheNumberOfSessions) {
  const auto first = connect();
  EXPECT_EQ(first->synchronize(kQueue).keep_bytes, kMemoryBytes / 2);
  {
    const auto second = connect();
    EXPECT_EQ(second->synchronize(kQueue).keep_bytes, kMemoryBytes / 4);
    EXPECT_EQ(first->synchronize(kQueue).keep_bytes, kMemoryBytes / 4);
    second->command(Opcode::goodbye);
    EXPECT_TRUE(cut_off(*second));
  }
  const auto until = RawClient::deadline();
  while (first->synchronize(kQueue).keep_bytes != kMemoryBytes / 2) {
    ASSERT_LT(transport::Clock::now(), until);
  }
}

TEST_F(MemoryShareTest, IdleSessionsEnd) {
  const auto idle = connect();
  EXPECT_EQ(have(*idle, 1, kMost), Code::ok);
  std::this_thread::sleep_for(kIdle);
  const auto busy = connect();
  EXPECT_EQ(have(*busy, 1, kMost), Code::ok);
  EXPECT_TRUE(cut_off(*idle));
}

TEST_F(MemoryShareTest, ASessionThatHoldsItsUsersDataNeverEnds) {
  const wire::Hello holder{.flags = wire::kHoldsUserData};
  const auto data = connect(holder);
  EXPECT_EQ(have(*data, 1, kMost), Code::ok);
  std::this_thread::sleep_for(kIdle);
  const auto busy = connect();
  EXPECT_EQ(have(*busy, 1, kMost), Code::out_of_memory);
  busy->synchronize(kQueue);
  EXPECT_EQ(data->synchronize(kQueue).code, Code::ok);
  // Its own wishes may end the sessions of others.
  data->command(Opcode::free, {}, wire::Free{BufferId{1}});
  EXPECT_EQ(data->synchronize(kQueue).code, Code::ok);
  EXPECT_EQ(have(*busy, 2, kMost), Code::ok);
  std::this_thread::sleep_for(kIdle);
  EXPECT_EQ(have(*data, 2, kMost), Code::ok);
  EXPECT_TRUE(cut_off(*busy));
}

TEST_F(MemoryShareTest, OnlyASessionsFirstConnectionSaysThatItHoldsData) {
  RawClient first(server->addresses().front());
  const wire::Welcome welcome = first.shake_hands();
  first.command(Opcode::create_queue, kQueue);
  EXPECT_EQ(have(first, 1, kMost), Code::ok);
  RawClient second(server->addresses().front());
  second.shake_hands({.join = welcome.token, .flags = wire::kHoldsUserData});
  std::this_thread::sleep_for(kIdle);
  const auto busy = connect();
  EXPECT_EQ(have(*busy, 1, kMost), Code::ok);
  EXPECT_TRUE(cut_off(first));
}

TEST_F(MemoryShareTest, ItsOwnLimitBoundsASessionThatHoldsData) {
  const auto limited = serve(kMost);
  const auto data =
      connect(limited->addresses().front(), wire::Hello{.flags = wire::kHoldsUserData});
  EXPECT_EQ(have(*data, 1, kMost + 100'000), Code::out_of_memory);
}

TEST_F(MemoryShareTest, TheLongestIdleEndsFirstAndNoMoreThanNeeded) {
  const auto longest = connect();
  EXPECT_EQ(have(*longest, 1, kMemoryBytes / 2), Code::ok);
  const auto shorter = connect();
  EXPECT_EQ(have(*shorter, 1, kMemoryBytes / 4), Code::ok);
  const auto without = connect();  // holds no memory, so ending it does not help
  std::this_thread::sleep_for(kIdle);
  EXPECT_EQ(shorter->synchronize(kQueue).code, Code::ok);
  std::this_thread::sleep_for(kIdle);
  const auto busy = connect();
  EXPECT_EQ(have(*busy, 1, kMemoryBytes / 2), Code::ok);
  EXPECT_TRUE(cut_off(*longest));
  EXPECT_EQ(shorter->synchronize(kQueue).code, Code::ok);
  EXPECT_EQ(without->synchronize(kQueue).code, Code::ok);
}

TEST_F(MemoryShareTest, BusySessionsKeepTheirMemory) {
  const auto first = connect();
  EXPECT_EQ(have(*first, 1, kMost), Code::ok);  // the client is not idle
  const auto second = connect();
  EXPECT_EQ(have(*second, 1, kMost), Code::out_of_memory);
  EXPECT_EQ(first->synchronize(kQueue).code, Code::ok);
  // A client with an unanswered command is busy even if it is silent for long.
  const Region region{0, 1, Triangle::full, 8, 1, 8};
  first->command(Opcode::write, kQueue, wire::Write{BufferId{1}, region}, Bytes(8));
  std::this_thread::sleep_for(kIdle);
  EXPECT_EQ(second->synchronize(kQueue).code, Code::ok);
  EXPECT_EQ(have(*second, 2, kMost), Code::out_of_memory);
  EXPECT_EQ(first->synchronize(kQueue).code, Code::ok);
}

TEST_F(MemoryShareTest, NoMoreSessionsEndThanNeeded) {
  const auto small = connect();  // idle for longer, but its memory is not enough
  EXPECT_EQ(have(*small, 1, 100'000), Code::ok);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto large = connect();
  EXPECT_EQ(have(*large, 1, kMost), Code::ok);
  std::this_thread::sleep_for(kIdle);
  const auto busy = connect();
  EXPECT_EQ(have(*busy, 1, kMost), Code::ok);
  EXPECT_TRUE(cut_off(*large));
  EXPECT_EQ(small->synchronize(kQueue).code, Code::ok);
}

TEST_F(MemoryShareTest, NoSessionEndsForAnAllocationThatStaysImpossible) {
  const auto idle = connect();
  EXPECT_EQ(have(*idle, 1, kMemoryBytes / 4), Code::ok);
  const auto busy = connect();
  std::this_thread::sleep_for(kIdle);
  EXPECT_EQ(have(*busy, 1, kMemoryBytes / 2), Code::ok);
  EXPECT_EQ(have(*busy, 2, std::uint64_t{1} << 60), Code::out_of_memory);
  busy->synchronize(kQueue);
  EXPECT_EQ(have(*busy, 3, kMemoryBytes + 1), Code::out_of_memory);
  busy->synchronize(kQueue);
  // The end of the idle session would leave half of the device.
  EXPECT_EQ(have(*busy, 4, kMemoryBytes / 2 + 1), Code::out_of_memory);
  busy->synchronize(kQueue);
  EXPECT_EQ(idle->synchronize(kQueue).code, Code::ok);
}

// Ending other sessions does not help a session that has reached its own limit.
TEST_F(MemoryShareTest, NoSessionEndsForOneThatIsAtItsLimit) {
  const auto limited = serve(kMost);
  const auto idle = connect(limited->addresses().front());
  EXPECT_EQ(have(*idle, 1, kMost), Code::ok);
  std::this_thread::sleep_for(kIdle);
  const auto greedy = connect(limited->addresses().front());
  EXPECT_EQ(have(*greedy, 1, kMost + 100'000), Code::out_of_memory);
  EXPECT_EQ(idle->synchronize(kQueue).code, Code::ok);
}

TEST_F(MemoryShareTest, ASessionOfSeveralConnectionsIsIdleOnlyIfAllAre) {
  RawClient first(server->addresses().front());
  const wire::Welcome welcome = first.shake_hands();
  first.command(Opcode::create_queue, kQueue);
  EXPECT_EQ(have(first, 1, kMost), Code::ok);
  RawClient second(server->addresses().front());
  second.shake_hands({.join = welcome.token});
  constexpr QueueId kOther{2};
  second.command(Opcode::create_queue, kOther);
  std::this_thread::sleep_for(kIdle);
  second.command(Opcode::synchronize, kOther);
  EXPECT_TRUE(second.answer().end.ok());
  const auto busy = connect();
  EXPECT_EQ(have(*busy, 1, kMost), Code::out_of_memory);
  std::this_thread::sleep_for(kIdle);
  EXPECT_EQ(busy->synchronize(kQueue).code, Code::ok);
  EXPECT_EQ(have(*busy, 2, kMost), Code::ok);
  EXPECT_TRUE(cut_off(first));
  EXPECT_TRUE(cut_off(second));
}

}  // namespace
}  // namespace ob::test
