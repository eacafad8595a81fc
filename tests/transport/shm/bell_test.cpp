#include "transport/shm/bell.hpp"

#include <thread>

#include "transport/shm/raw_client.hpp"
#include "transport/shm/ring.hpp"

namespace ob::transport::shm {
namespace {

using namespace ob::transport::test;

/// Returns true if `ring` wakes a sleeper before the deadline.
template <class Ring>
bool is_woken(bool receiver, bool sender, Ring ring) {
  BellWords words{};
  const Deadline deadline = test_deadline();
  std::thread sleeper([&] { sleep_on(words, receiver, sender, deadline, [] { return false; }); });
  while (words.sleeping_receivers.load() + words.sleeping_senders.load() == 0) {
    std::this_thread::yield();
  }
  ring(words);
  sleeper.join();
  EXPECT_EQ(words.sleeping_receivers.load(), 0u);
  EXPECT_EQ(words.sleeping_senders.load(), 0u);
  return Clock::now() < deadline;
}

TEST(Bell, WakesWhoSleeps) {
  const auto yes = [] { return true; };
  EXPECT_TRUE(is_woken(true, false, [](BellWords& words) { ring_receivers(words); }));
  EXPECT_TRUE(is_woken(false, true, [&](BellWords& words) { ring_senders(words, yes); }));
  EXPECT_TRUE(is_woken(true, true, [](BellWords& words) { ring_all(words); }));
}

TEST(Bell, NobodySleepsOnceThingsAreReady) {
  BellWords words{};
  const Deadline deadline = test_deadline();
  sleep_on(words, true, true, deadline, [] { return true; });
  EXPECT_LT(Clock::now(), deadline);
}

struct Bells : ::testing::Test {
  Folder folder;
  std::unique_ptr<Listener> listener = require(listen("unix:" + folder.socket_path()));
  RawClient client{*listener};
};

TEST_F(Bells, ASendRingsOnlyForASleepingReceiver) {
  const auto text = bytes_of("some bytes");
  ASSERT_EQ(require(try_send(*client.server, text)), text.size());
  client.bell().sleeping_senders.store(1);
  ASSERT_EQ(require(try_send(*client.server, text)), text.size());
  EXPECT_EQ(client.bell().rings.load(), 0u);
  client.bell().sleeping_receivers.store(1);
  ASSERT_EQ(require(try_send(*client.server, text)), text.size());
  EXPECT_EQ(client.bell().rings.load(), 1u);
}

TEST_F(Bells, AReceiveRingsOnlyForASleepingSenderOnceThereIsRoomWorthIt) {
  client.to_server().head.store(kRingBytes);  // the ring is full
  std::vector<std::byte> some(1000);
  ASSERT_EQ(require(try_receive(*client.server, some)), some.size());
  client.bell().sleeping_receivers.store(1);
  client.bell().sleeping_senders.store(1);
  ASSERT_EQ(require(try_receive(*client.server, some)), some.size());
  EXPECT_EQ(client.bell().rings.load(), 0u);  // 2000 bytes of room need no wake-up
  std::vector<std::byte> rest(kRingBytes);
  ASSERT_EQ(require(try_receive(*client.server, rest)), kRingBytes - 2 * some.size());
  EXPECT_GT(client.bell().rings.load(), 0u);
  const auto rings = client.bell().rings.load();
  client.bell().sleeping_senders.store(0);
  client.to_server().head.store(kRingBytes + 10);
  ASSERT_EQ(require(try_receive(*client.server, rest)), 10u);
  EXPECT_EQ(client.bell().rings.load(), rings);
}

TEST_F(Bells, ShuttingDownRings) {
  client.server->shut_down();
  EXPECT_GT(client.bell().rings.load(), 0u);
}

}  // namespace
}  // namespace ob::transport::shm
