// Copies from device to device, and events between devices, at all pairs of places.

#include <array>
#include <cstring>
#include <random>
#include <thread>

#include "api/fixture.hpp"
#include "backend/cpu/backend.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

enum class Pair { two_daemons, one_daemon, one_device, local_and_daemon, two_local, shm_and_tcp };

std::string pair_name(const testing::TestParamInfo<Pair>& info) {
  constexpr std::array names{"two_daemons",      "one_daemon", "one_device",
                             "local_and_daemon", "two_local",  "shm_and_tcp"};
  return names[static_cast<std::size_t>(info.param)];
}

std::unique_ptr<Device> small_cpu() {
  return require(cpu::create({.memory_bytes = 1 << 28, .threads = 1, .gflops_double = 10}));
}

std::unique_ptr<InProcessDaemon> daemon_with(Transport transport, std::size_t devices) {
  std::vector<std::unique_ptr<Device>> made;
  for (std::size_t i = 0; i < devices; ++i) made.push_back(small_cpu());
  return std::make_unique<InProcessDaemon>(transport, std::move(made));
}

ob_rect bytes_rect(std::uint64_t bytes) { return {bytes, 1, bytes, bytes, 1, 0}; }

// Two devices (or one twice), each with a queue.
class PeersTest : public testing::TestWithParam<Pair> {
 protected:
  void SetUp() override {
    const std::array names = places();
    for (std::size_t i = 0; i < 2; ++i) {
      if (i == 1 && GetParam() == Pair::one_device) {
        device[1] = device[0];
      } else {
        ASSERT_TRUE(succeeds(ob_device_open(names[i].c_str(), nullptr, &device[i])));
      }
      ASSERT_TRUE(succeeds(ob_queue_create(device[i], 0, &queue[i])));
    }
  }
  void TearDown() override {
    EXPECT_TRUE(succeeds(ob_device_close(device[0])));
    if (device[1] != device[0]) {
      EXPECT_TRUE(succeeds(ob_device_close(device[1])));
    }
  }
  std::array<std::string, 2> places() {
    switch (GetParam()) {
      case Pair::two_daemons:
        daemons[0] = daemon_with(Transport::tcp, 1);
        daemons[1] = daemon_with(Transport::tcp, 1);
        return {daemons[0]->address(), daemons[1]->address()};
      case Pair::one_daemon:
        daemons[0] = daemon_with(Transport::tcp, 2);
        return {daemons[0]->address() + "/0", daemons[0]->address() + "/1"};
      case Pair::one_device:
        daemons[0] = daemon_with(Transport::tcp, 1);
        return {daemons[0]->address(), ""};
      case Pair::local_and_daemon:
        daemons[0] = daemon_with(Transport::tcp, 1);
        return {"local:cpu", daemons[0]->address()};
      case Pair::two_local: return {"local:cpu", "local:cpu"};
      default:
        daemons[0] = daemon_with(Transport::shm, 1);
        daemons[1] = daemon_with(Transport::tcp, 1);
        return {daemons[0]->address(), daemons[1]->address()};
    }
  }
  ob_buffer buffer(std::size_t side, std::uint64_t bytes) {
    ob_buffer made = nullptr;
    EXPECT_TRUE(succeeds(ob_buffer_create(device[side], bytes, 0, &made)));
    return made;
  }
  ob_buffer holding(std::size_t side, const std::vector<std::uint8_t>& contents) {
    const ob_buffer made = buffer(side, contents.size());
    EXPECT_TRUE(
        succeeds(ob_write(queue[side], {made, 0}, contents.data(), contents.size(), OB_CAPTURE)));
    return made;
  }
  std::vector<std::uint8_t> contents(std::size_t side, ob_buffer from, std::size_t bytes) {
    std::vector<std::uint8_t> read(bytes);
    EXPECT_TRUE(succeeds(ob_read(queue[side], read.data(), {from, 0}, bytes, OB_WAIT)));
    return read;
  }

  std::array<std::unique_ptr<InProcessDaemon>, 2> daemons;
  std::array<ob_device, 2> device{};
  std::array<ob_queue, 2> queue{};
  std::mt19937_64 engine{test_seed()};
};

std::vector<std::uint8_t> noise(std::mt19937_64& engine, std::size_t bytes) {
  std::vector<std::uint8_t> made(bytes);
  for (auto& each : made) each = static_cast<std::uint8_t>(engine());
  return made;
}

TEST_P(PeersTest, ARectangleArrivesAndNothingElseChanges) {
  constexpr std::uint64_t kWidth = 328, kRows = 211, kFromPitch = 344, kToPitch = 400;
  constexpr std::uint64_t kFromOffset = 24, kToOffset = 56;
  const auto source = noise(engine, kFromOffset + kFromPitch * kRows);
  auto expected = noise(engine, kToOffset + kToPitch * kRows + 9);
  const ob_buffer from = holding(0, source);
  const ob_buffer to = holding(1, expected);
  const ob_rect rect{kWidth, kRows, kToPitch, kFromPitch, 8, 0};
  ASSERT_TRUE(
      succeeds(ob_copy_between(queue[0], {from, kFromOffset}, queue[1], {to, kToOffset}, &rect)));
  for (std::uint64_t row = 0; row < kRows; ++row) {
    std::memcpy(expected.data() + kToOffset + row * kToPitch,
                source.data() + kFromOffset + row * kFromPitch, kWidth);
  }
  EXPECT_EQ(contents(1, to, expected.size()), expected);
  EXPECT_TRUE(succeeds(ob_queue_synchronize(queue[0], OB_FOREVER, nullptr)));
}

// Both queues are held until their part is done.
TEST_P(PeersTest, QueuesKeepTheirOrder) {
  constexpr std::size_t kBytes = 3 << 20;
  const auto first = noise(engine, kBytes);
  const auto second = noise(engine, kBytes);
  const ob_buffer from = holding(0, first);
  const ob_buffer to = buffer(1, kBytes);
  const ob_buffer copy = buffer(1, kBytes);
  const ob_rect rect = bytes_rect(kBytes);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(succeeds(ob_copy_between(queue[0], {from, 0}, queue[1], {to, 0}, &rect)));
    // The source changes at once; the destination is used at once.
    const auto& next = round % 2 == 0 ? second : first;
    ASSERT_TRUE(succeeds(ob_write(queue[0], {from, 0}, next.data(), kBytes, 0)));
    ASSERT_TRUE(succeeds(ob_copy(queue[1], {copy, 0}, {to, 0}, kBytes)));
    EXPECT_TRUE(contents(1, copy, kBytes) == (round % 2 == 0 ? first : second)) << round;
    // And back.
    ASSERT_TRUE(succeeds(ob_copy_between(queue[1], {copy, 0}, queue[0], {from, 0}, &rect)));
    EXPECT_TRUE(contents(0, from, kBytes) == (round % 2 == 0 ? first : second)) << round;
    ASSERT_TRUE(succeeds(ob_write(queue[0], {from, 0}, next.data(), kBytes, 0)));
  }
  EXPECT_TRUE(succeeds(ob_queue_synchronize(queue[0], OB_FOREVER, nullptr)));
}

TEST_P(PeersTest, MistakesAreFound) {
  const ob_buffer from = buffer(0, 100);
  const ob_buffer to = buffer(1, 100);
  ob_rect rect = bytes_rect(100);
  EXPECT_TRUE(fails(ob_copy_between(queue[0], {from, 1}, queue[1], {to, 0}, &rect),
                    OB_INVALID_ARGUMENT, "reaches beyond"));
  EXPECT_TRUE(fails(ob_copy_between(queue[0], {from, 0}, queue[1], {to, 1}, &rect),
                    OB_INVALID_ARGUMENT, "reaches beyond"));
  EXPECT_TRUE(fails(ob_copy_between(queue[0], {from, 0}, queue[1], {to, 0}, nullptr),
                    OB_INVALID_ARGUMENT, "NULL"));
  rect.flags = 1;
  EXPECT_TRUE(fails(ob_copy_between(queue[0], {from, 0}, queue[1], {to, 0}, &rect),
                    OB_INVALID_ARGUMENT, "flags"));
  if (device[0] != device[1]) {
    rect.flags = 0;
    EXPECT_TRUE(fails(ob_copy_between(queue[1], {from, 0}, queue[0], {to, 0}, &rect),
                      OB_INVALID_ARGUMENT, "two devices"));
  }
}

TEST_P(PeersTest, AnEventOfAnotherDeviceHoldsAQueue) {
  constexpr std::size_t kBytes = 8 << 20;
  const auto data = noise(engine, kBytes);
  std::vector<std::uint8_t> passed(kBytes);
  const ob_buffer from = buffer(0, kBytes);
  const ob_buffer to = buffer(1, kBytes);
  ob_event written = nullptr;
  ASSERT_TRUE(succeeds(ob_event_create(device[0], 0, &written)));
  ASSERT_TRUE(succeeds(ob_event_hold(written, queue[1])));  // no record: it holds nothing
  ASSERT_TRUE(succeeds(ob_queue_synchronize(queue[1], OB_FOREVER, nullptr)));
  ASSERT_TRUE(succeeds(ob_write(queue[0], {from, 0}, data.data(), kBytes, 0)));
  ASSERT_TRUE(succeeds(ob_read(queue[0], passed.data(), {from, 0}, kBytes, 0)));
  ASSERT_TRUE(succeeds(ob_event_record(written, queue[0])));
  ASSERT_TRUE(succeeds(ob_event_hold(written, queue[1])));
  ASSERT_TRUE(succeeds(ob_fill(queue[1], {to, 0}, "x", 1, kBytes)));
  ASSERT_TRUE(succeeds(ob_queue_synchronize(queue[1], OB_FOREVER, nullptr)));
  // The queue of the other device was behind the read.
  EXPECT_TRUE(passed == data);
  EXPECT_TRUE(succeeds(ob_event_wait(written, OB_FOREVER)));
  EXPECT_EQ(contents(1, to, 3), (std::vector<std::uint8_t>{'x', 'x', 'x'}));
  EXPECT_TRUE(succeeds(ob_queue_synchronize(queue[0], OB_FOREVER, nullptr)));
}

INSTANTIATE_TEST_SUITE_P(at, PeersTest,
                         testing::Values(Pair::two_daemons, Pair::one_daemon, Pair::one_device,
                                         Pair::local_and_daemon, Pair::two_local,
                                         Pair::shm_and_tcp),
                         pair_name);

// --- messages ------------------------------------------------------------------------------------

class MessagesTest : public PeersTest {
 protected:
  void SetUp() override {
    PeersTest::SetUp();
    ASSERT_TRUE(succeeds(ob_mailbox_open(device[1], address.data(), &mailbox)));
    ASSERT_TRUE(succeeds(ob_peer_connect(device[0], address.data(), &peer)));
  }

  std::array<char, OB_ADDRESS_BYTES> address{};
  ob_mailbox mailbox = nullptr;
  ob_peer peer = nullptr;
};

TEST_P(MessagesTest, EventsMarkArrivalAndDeparture) {
  constexpr std::size_t kBytes = 5 << 20;
  const auto data = noise(engine, kBytes);
  const ob_buffer from = holding(0, data);
  const ob_buffer to = buffer(1, kBytes);
  ob_event sent = nullptr, arrived = nullptr;
  ASSERT_TRUE(succeeds(ob_event_create(device[0], 0, &sent)));
  ASSERT_TRUE(succeeds(ob_event_create(device[1], 0, &arrived)));
  const ob_rect rect = bytes_rect(kBytes);
  ASSERT_TRUE(succeeds(ob_receive(queue[1], mailbox, 7, {to, 0}, &rect, nullptr, arrived)));
  // The queue is not held, the event is.
  ASSERT_TRUE(succeeds(ob_queue_synchronize(queue[1], OB_FOREVER, nullptr)));
  EXPECT_TRUE(fails(ob_event_wait(arrived, 0), OB_DEADLINE_EXCEEDED, "not done"));
  ASSERT_TRUE(succeeds(ob_send(queue[0], peer, 7, {from, 0}, &rect, sent)));
  ASSERT_TRUE(succeeds(ob_event_wait(sent, OB_FOREVER)));
  ASSERT_TRUE(succeeds(ob_event_hold(arrived, queue[1])));
  EXPECT_TRUE(contents(1, to, kBytes) == data);
  ASSERT_TRUE(succeeds(ob_event_wait(arrived, OB_FOREVER)));
  // The number is free again, and a queue may wait itself. Another device waits for the event.
  const ob_rect half = bytes_rect(kBytes / 2);
  ASSERT_TRUE(succeeds(ob_receive(queue[1], mailbox, 7, {to, 5}, &half, nullptr, nullptr)));
  ASSERT_TRUE(succeeds(ob_event_record(arrived, queue[1])));
  ASSERT_TRUE(succeeds(ob_send(queue[0], peer, 7, {from, 9}, &half, nullptr)));
  ASSERT_TRUE(succeeds(ob_event_hold(arrived, queue[0])));
  ASSERT_TRUE(succeeds(ob_queue_synchronize(queue[0], OB_FOREVER, nullptr)));
  EXPECT_TRUE(succeeds(ob_event_wait(arrived, OB_FOREVER)));
  const auto received = contents(1, to, kBytes);
  EXPECT_EQ(std::memcmp(received.data() + 5, data.data() + 9, kBytes / 2), 0);
}

TEST_P(MessagesTest, ACloseFailsReceivesAndWhoWaitsForThem) {
  const ob_buffer to = buffer(1, 64);
  ob_event arrived = nullptr;
  ASSERT_TRUE(succeeds(ob_event_create(device[1], 0, &arrived)));
  const ob_rect rect = bytes_rect(64);
  ASSERT_TRUE(succeeds(ob_receive(queue[1], mailbox, 3, {to, 0}, &rect, nullptr, arrived)));
  ASSERT_TRUE(succeeds(ob_event_hold(arrived, queue[1])));
  ASSERT_TRUE(succeeds(ob_event_hold(arrived, queue[0])));
  ASSERT_TRUE(succeeds(ob_mailbox_close(mailbox)));
  EXPECT_TRUE(fails(ob_queue_synchronize(queue[1], OB_FOREVER, nullptr), OB_UNAVAILABLE, "closed"));
  EXPECT_EQ(ob_queue_synchronize(queue[0], OB_FOREVER, nullptr), OB_UNAVAILABLE);
  EXPECT_TRUE(fails(ob_event_wait(arrived, OB_FOREVER), OB_UNAVAILABLE, "closed"));
  // A new mailbox has a new address.
  std::array<char, OB_ADDRESS_BYTES> next{};
  ASSERT_TRUE(succeeds(ob_mailbox_open(device[1], next.data(), &mailbox)));
  EXPECT_STRNE(next.data(), address.data());
  ob_peer old = nullptr;
  EXPECT_EQ(ob_peer_connect(device[0], address.data(), &old), OB_INVALID_ARGUMENT);
  EXPECT_TRUE(fails(ob_receive(queue[1], mailbox, 0, {to, 0}, &rect, nullptr, nullptr),
                    OB_INVALID_ARGUMENT, "number"));
}

TEST_P(MessagesTest, ANumberHasOneReceive) {
  const ob_buffer to = buffer(1, 128);
  const ob_buffer from = holding(0, noise(engine, 64));
  ob_event arrived = nullptr;
  ASSERT_TRUE(succeeds(ob_event_create(device[1], 0, &arrived)));
  const ob_rect rect = bytes_rect(64);
  ASSERT_TRUE(succeeds(ob_receive(queue[1], mailbox, 3, {to, 0}, &rect, nullptr, arrived)));
  ASSERT_TRUE(succeeds(ob_receive(queue[1], mailbox, 3, {to, 64}, &rect, nullptr, nullptr)));
  EXPECT_TRUE(fails(ob_queue_synchronize(queue[1], OB_FOREVER, nullptr), OB_INVALID_ARGUMENT,
                    "has a receive"));
  ASSERT_TRUE(succeeds(ob_send(queue[0], peer, 3, {from, 0}, &rect, nullptr)));
  EXPECT_TRUE(succeeds(ob_event_wait(arrived, OB_FOREVER)));  // the first one stands
}

// A device that nobody sends to can be closed.
TEST_P(MessagesTest, ADeviceClosesWithReceivesThatNothingComesFor) {
  const ob_buffer to = buffer(1, 64);
  const ob_rect rect = bytes_rect(64);
  ASSERT_TRUE(succeeds(ob_receive(queue[1], mailbox, 3, {to, 0}, &rect, nullptr, nullptr)));
}

TEST_P(MessagesTest, MistakesAreFound) {
  ob_mailbox second = nullptr;
  ob_peer none = nullptr;
  std::array<char, OB_ADDRESS_BYTES> next{};
  EXPECT_TRUE(fails(ob_mailbox_open(device[1], next.data(), &second), OB_INVALID_ARGUMENT, "open"));
  for (const char* wrong : {"", "mailbox:", "mailbox:127.0.0.1:1", "127.0.0.1:1#0123",
                            "mailbox:#0123456789abcdef0123456789abcdef"}) {
    EXPECT_TRUE(fails(ob_peer_connect(device[0], wrong, &none), OB_INVALID_ARGUMENT, "form"))
        << wrong;
  }
  const std::string nobody = "mailbox:127.0.0.1:1#0123456789abcdef0123456789abcdef";
  EXPECT_TRUE(
      fails(ob_peer_connect(device[0], nobody.c_str(), &none), OB_UNAVAILABLE, "127.0.0.1"));
  ob_event timed = nullptr;
  ASSERT_TRUE(succeeds(ob_event_create(device[1], OB_TIMED, &timed)));
  const ob_buffer to = buffer(1, 64);
  const ob_rect rect = bytes_rect(64);
  EXPECT_TRUE(fails(ob_send(queue[1], peer, 1, {to, 0}, &rect, nullptr), OB_INVALID_ARGUMENT,
                    "another device"));
  EXPECT_TRUE(fails(ob_receive(queue[0], mailbox, 1, {to, 0}, &rect, nullptr, nullptr),
                    OB_INVALID_ARGUMENT, "another device"));
  EXPECT_EQ(none, nullptr);
}

INSTANTIATE_TEST_SUITE_P(at, MessagesTest, testing::Values(Pair::two_daemons, Pair::one_daemon),
                         pair_name);

TEST(NoPeersTest, TheFactsSayThatADaemonConnectsToNoOthers) {
  for (const bool may_connect : {true, false}) {
    daemon::ServerConfig config;
    config.may_connect = may_connect;
    const InProcessDaemon daemon(Transport::tcp, one(null_device()), config);
    ob_device device = nullptr;
    ASSERT_TRUE(succeeds(ob_device_open(daemon.address().c_str(), nullptr, &device)));
    ob_device_facts facts{};
    facts.struct_bytes = sizeof facts;
    ASSERT_TRUE(succeeds(ob_device_get_facts(device, &facts)));
    EXPECT_EQ(facts.peers, may_connect ? 1u : 0u);
    EXPECT_TRUE(succeeds(ob_device_close(device)));
  }
}

TEST(LocalPeersTest, ADeviceOfThisProcessTakesNoMessages) {
  ob_device local = nullptr;
  ASSERT_TRUE(succeeds(ob_device_open("local:null", nullptr, &local)));
  std::array<char, OB_ADDRESS_BYTES> address{};
  ob_mailbox mailbox = nullptr;
  EXPECT_TRUE(fails(ob_mailbox_open(local, address.data(), &mailbox), OB_UNSUPPORTED, "behind"));
  ob_device_facts facts{};
  facts.struct_bytes = sizeof facts;
  ASSERT_TRUE(succeeds(ob_device_get_facts(local, &facts)));
  EXPECT_EQ(facts.peers, 0u);
  EXPECT_TRUE(succeeds(ob_device_close(local)));
}

}  // namespace
}  // namespace ob::test
