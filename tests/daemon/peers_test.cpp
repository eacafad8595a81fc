// Peer messages arrive bit for bit and in order, and wait for their receives.

#include <future>
#include <thread>

#include "routines/codec.hpp"
#include "support/dgemm.hpp"
#include "support/peer_session.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

using wire::Opcode;

constexpr PeerId kNext{1};
constexpr std::uint64_t kBufferBytes = std::uint64_t{5} << 20;
constexpr std::uint32_t kHostDevice = 0;
constexpr std::uint32_t kHiddenDevice = 1;

// The devices of sender and receiver. `one_daemon` is true if both belong to one daemon.
struct Places {
  bool one_daemon;
  std::vector<std::uint32_t> devices;
};

std::string name(const testing::TestParamInfo<Places>& info) {
  std::string text = info.param.one_daemon ? "one_daemon" : "daemons";
  for (const std::uint32_t device : info.param.devices) {
    text += device == kHostDevice ? "_host" : "_hidden";
  }
  return text;
}

class PeersTest : public testing::TestWithParam<Places> {
 protected:
  PeersTest() {
    for (std::size_t i = 0; i < GetParam().devices.size(); ++i) {
      InProcessDaemon& daemon = GetParam().one_daemon ? first_ : i % 2 == 0 ? first_ : second_;
      sessions.push_back(
          std::make_unique<PeerSession>(daemon.address(), kBufferBytes, GetParam().devices[i]));
    }
    for (std::size_t i = 0; i + 1 < sessions.size(); ++i) {
      sessions[i]->connect(kNext, *sessions[i + 1]);
    }
    sent = random_bytes(random, kBufferBytes);
    at(0).write(sent);
  }
  PeerSession& at(std::size_t i) { return *sessions[i]; }
  PeerSession& last() { return *sessions.back(); }

  // Returns a region of `shape` at a random place in the buffer, with gaps.
  Region somewhere(const Region& shape) {
    Region region = shape;
    region.ld = std::max<std::uint64_t>(1, shape.rows) + random() % 5;
    region.offset_bytes = 8 * (random() % 100);
    return fits(region, kBufferBytes) ? region : shape;
  }

  // Sends from the first session to the last; the sessions between forward the message.
  void expect_arrives(const Region& shape) {
    const std::uint64_t peer_message = ++messages_;
    const Region from = somewhere(shape);
    std::vector<Region> to;
    std::vector<std::uint64_t> asked;
    at(0).send(kNext, peer_message, from);
    for (std::size_t i = 1; i < sessions.size(); ++i) {
      to.push_back(somewhere(shape));
      at(i).poison();
      asked.push_back(
          at(i).receive(peer_message, to.back(), i + 1 < sessions.size() ? kNext : PeerId{}));
    }
    for (std::size_t i = 1; i < sessions.size(); ++i) {
      const wire::Outcome outcome = at(i).await(asked[i - 1]);
      ASSERT_EQ(outcome.code, Code::ok) << outcome.message;
      at(i).expect_has(to[i - 1], sent, from);
    }
    ASSERT_EQ(at(0).synchronize().code, Code::ok);
  }

  std::mt19937_64 random = fresh_random();
  Bytes sent;
  std::vector<std::unique_ptr<PeerSession>> sessions;

 private:
  std::uint64_t messages_ = 0;
  TwoDevices hardware_[2];
  InProcessDaemon first_{Transport::tcp, hardware_[0].devices()};
  InProcessDaemon second_{Transport::tcp, hardware_[1].devices()};
};

TEST_P(PeersTest, MessagesArriveBitForBit) {
  expect_arrives(line(1));
  expect_arrives(matrix(0, 0, 1));
  expect_arrives(matrix(700, 501, 700));  // two pieces, like the next ones
  expect_arrives(line(kBufferBytes));
  for (const Triangle triangle :
       {Triangle::upper, Triangle::lower, Triangle::upper_strict, Triangle::lower_strict}) {
    expect_arrives(matrix(801, 800, 801, triangle));
    expect_arrives(matrix(5, 9, 5, triangle, 0, 16));
  }
  for (int i = 0; i < 12; ++i) {
    const auto element_bytes = static_cast<std::uint32_t>(1U << (random() % 5));
    const std::uint64_t rows = uniform<std::uint64_t>(random, 1, 400);
    expect_arrives(matrix(rows, uniform<std::uint64_t>(random, 1, 400), rows,
                          static_cast<Triangle>(random() % 5), 0, element_bytes));
  }
}

TEST_P(PeersTest, ManyMessagesArriveInTheOrderOfTheirSends) {
  constexpr std::uint64_t kMany = 100;
  const Region piece = matrix(100, 50, 100);
  const auto place = [&](std::uint64_t peer_message) {
    Region region = piece;
    region.offset_bytes = (peer_message - 1) * packed_bytes(piece);
    return region;
  };
  last().poison();
  std::vector<std::vector<std::uint64_t>> asked(sessions.size());
  for (std::uint64_t peer_message = 1; peer_message <= kMany; ++peer_message) {
    for (std::size_t i = sessions.size() - 1; i > 0; --i) {
      const PeerId next = i + 1 < sessions.size() ? kNext : PeerId{};
      asked[i].push_back(at(i).receive(peer_message, place(peer_message), next));
    }
    at(0).send(kNext, peer_message, place(peer_message));
  }
  for (std::size_t i = 1; i < sessions.size(); ++i) {
    for (const std::uint64_t sequence : asked[i]) EXPECT_EQ(at(i).await(sequence).code, Code::ok);
  }
  const Region whole = line(kMany * packed_bytes(piece));
  last().expect_has(whole, sent, whole);
}

// A sender may disconnect while its message is still forwarded.
TEST_P(PeersTest, AMessageWithoutAReceiveHoldsUpItsLinkAndNothingElse) {
  const Region early = line(1 << 20);
  const Region late = line(kBigBytes);
  const Bytes big = random_bytes(random, kBigBytes);
  for (const auto& session : sessions) session->make_big_buffer();
  at(0).write(big, kBigBuffer);
  last().poison();
  at(0).send(kNext, 2, late, kBigBuffer);
  at(0).send(kNext, 1, early);
  for (std::size_t i = 1; i + 1 < sessions.size(); ++i) {
    const std::uint64_t asked[] = {at(i).receive(2, late, kNext, kBigBuffer),
                                   at(i).receive(1, early, kNext)};
    EXPECT_EQ(at(i).await(asked[0]).code, Code::ok);
    EXPECT_EQ(at(i).await(asked[1]).code, Code::ok);
    EXPECT_EQ(at(i).synchronize().code, Code::ok);
  }
  const std::uint64_t first = last().receive(1, early);
  EXPECT_EQ(at(0).synchronize().code, Code::ok);  // the sender's queue continues
  if (sessions.size() > 2) {
    at(0).disconnect(kNext);
    EXPECT_EQ(at(0).synchronize().code, Code::ok);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  last().expect_untouched();
  EXPECT_FALSE(last().has_received(first));
  const std::uint64_t second = last().receive(2, late, {}, kBigBuffer);
  EXPECT_EQ(last().await(second).code, Code::ok);
  EXPECT_EQ(last().await(first).code, Code::ok);
  last().expect_has(early, sent, early);
  EXPECT_TRUE(last().read(kBigBuffer, kBigBytes) == big);
}

TEST_P(PeersTest, AGracefulCloseBreaksNothing) {
  expect_arrives(matrix(100, 100, 100));
  at(0).disconnect(kNext);
  at(0).client.command(Opcode::goodbye);
  EXPECT_EQ(at(0).client.answer().end.code(), Code::connection_lost);
  // Other peers may still send.
  PeerSession other(at(0).address(), kBufferBytes);
  other.write(sent);
  other.connect(kNext, at(1));
  const Region region = line(1000);
  at(1).poison();
  const std::uint64_t asked = at(1).receive(77, region);
  other.send(kNext, 77, region);
  const wire::Outcome outcome = at(1).await(asked);
  EXPECT_EQ(outcome.code, Code::ok) << outcome.message;
  at(1).expect_has(region, sent, region);
}

TEST_P(PeersTest, ASenderThatDiesInMidMessageFailsTheReceives) {
  at(0).make_big_buffer();
  at(1).make_big_buffer();
  const Region region = line(kBigBytes);
  at(0).send(kNext, 1, region, kBigBuffer);
  EXPECT_EQ(at(0).synchronize().code, Code::ok);
  const std::uint64_t other = at(1).receive(2, line(100));
  at(0).die();
  // The daemon detects the end of a stream only when its first message has a receive.
  const std::uint64_t first = at(1).receive(1, region, {}, kBigBuffer);
  EXPECT_EQ(at(1).await(first).code, Code::connection_lost);
  EXPECT_EQ(at(1).await(other).code, Code::connection_lost);
  at(1).expect_lives();
  // The error lasts until the session opens a new mailbox.
  EXPECT_EQ(at(1).await(at(1).receive(3, line(8))).code, Code::connection_lost);
  at(1).close_mailbox();
  PeerSession again(at(0).address(), kBufferBytes);
  again.connect(kNext, at(1));
  again.send(kNext, 3, line(8));
  EXPECT_EQ(at(1).await(at(1).receive(3, line(8))).code, Code::ok);
}

TEST_P(PeersTest, AReceiverThatDiesDoesNotHarmItsSender) {
  at(0).make_big_buffer();
  at(1).make_big_buffer();
  const Region region = line(kBigBytes);
  at(0).send(kNext, 1, region, kBigBuffer);
  at(0).send(kNext, 2, region, kBigBuffer);
  EXPECT_EQ(at(0).synchronize().code, Code::ok);
  (void)at(1).receive(1, region, {}, kBigBuffer);
  EXPECT_EQ(at(1).synchronize().code, Code::ok);
  at(1).die();
  EXPECT_EQ(at(0).synchronize().code, Code::ok);
  at(0).expect_lives();
  // The sender gets the error soon, or with its next message to that peer.
  wire::Outcome outcome;
  for (int i = 0; i < 200 && outcome.code == Code::ok; ++i) {
    at(0).send(kNext, 3, line(8));
    outcome = at(0).synchronize();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(outcome.code, Code::unavailable) << outcome.message;
  at(0).expect_lives();
}

TEST_P(PeersTest, NothingArrivesInAClosedMailbox) {
  const Region region = line(kBufferBytes);
  for (int round = 0; round < 5; ++round) {
    at(0).send(kNext, 1, region);
    const std::uint64_t asked = at(1).receive(1, region);
    if (round % 2 == 0) (void)at(1).synchronize();
    at(1).close_mailbox();
    const Code code = at(1).await(asked).code;
    EXPECT_TRUE(code == Code::ok || code == Code::unavailable || code == Code::connection_lost)
        << to_string(code);
    at(1).poison();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    at(1).expect_untouched();
    EXPECT_EQ(at(1).await(at(1).receive(2, region)).code, Code::invalid_argument);
    at(0).disconnect(kNext);
    at(0).connect(kNext, at(1));
  }
}

INSTANTIATE_TEST_SUITE_P(between, PeersTest,
                         testing::Values(Places{true, {0, 0}}, Places{true, {0, 1}},
                                         Places{true, {1, 0}}, Places{false, {0, 0}},
                                         Places{false, {0, 1}}, Places{false, {1, 0}},
                                         Places{false, {1, 1}}, Places{true, {0, 0, 0}},
                                         Places{true, {0, 1, 0}}, Places{false, {0, 0, 0}},
                                         Places{false, {0, 1, 0}}, Places{false, {1, 1, 1}},
                                         Places{false, {0, 1, 1, 0}}),
                         name);

// --- one daemon, and a sender or receiver that the test itself drives ----------------------------

class DeliveryTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  TwoDevices hardware;
  InProcessDaemon daemon{Transport::tcp, hardware.devices()};
  PeerSession session{daemon.address(), kBufferBytes, GetParam()};
  std::mt19937_64 random = fresh_random();
};

TEST_P(DeliveryTest, TheBeginningIsForwardedBeforeTheRestArrives) {
  auto listener = require(transport::listen("127.0.0.1:0"));
  auto accepted = std::async(std::launch::async, [&] {
    RawClient receiver(require(listener->accept(RawClient::deadline())));
    const Received join = receiver.receive();
    EXPECT_EQ(join.opcode(), Opcode::join_peer);
    EXPECT_EQ(join.as<wire::JoinPeer>().access_key, (wire::Token{7, 8}));
    EXPECT_EQ(join.as<wire::JoinPeer>().big_endian, wire::kBigEndian);
    EXPECT_TRUE(receiver.send({.opcode = Opcode::joined, .queue = {}}));
    return receiver.release();
  });
  const wire::Outcome outcome = session.connect(kNext, {7, 8}, listener->address());
  ASSERT_EQ(outcome.code, Code::ok) << outcome.message;
  const auto receiver = accepted.get();
  FakeSender sender(daemon.address(), session.open_mailbox());
  sender.expect_joined();
  const Region region = line(4 << 20);
  const Bytes sent = random_bytes(random, 4 << 20);
  const std::uint64_t asked = session.receive(5, region, kNext);
  ASSERT_TRUE(sender.begin(5, region, std::span(sent).first(3 << 20)));

  const auto take = [&](std::size_t size_bytes) {
    Bytes bytes(size_bytes);
    for (std::size_t had = 0; had < size_bytes;) {
      const iovec part{bytes.data() + had, size_bytes - had};
      const std::size_t more = require(receiver->try_receive({&part, 1}));
      had += more;
      if (more == 0 && !receiver->wait(true, false, RawClient::deadline()).ok()) break;
    }
    return bytes;
  };
  const Bytes head = take(wire::kHeaderBytes + 48);
  EXPECT_EQ(head[0], static_cast<std::byte>(Opcode::peer_message));
  Bytes heard = take(2 << 20);  // one whole piece
  EXPECT_FALSE(session.has_received(asked));
  ASSERT_TRUE(sender.stream.send_bytes(std::span(sent).subspan(3 << 20)));
  const Bytes rest = take(2 << 20);
  heard.insert(heard.end(), rest.begin(), rest.end());
  EXPECT_TRUE(heard == sent);
  EXPECT_EQ(session.await(asked).code, Code::ok);
  EXPECT_EQ(session.synchronize().code, Code::ok);
}

TEST_P(DeliveryTest, WordsOfTheOtherByteOrderAreSwappedAsTheyArrive) {
  FakeSender sender(daemon.address(), session.open_mailbox(), true);
  sender.expect_joined();
  std::uint64_t peer_message = 0;
  for (const std::uint8_t word_bytes : {1, 2, 4, 8}) {
    Region region = matrix(301, 203, 305, static_cast<Triangle>(random() % 5), 64, 2U * word_bytes);
    region.word_bytes = word_bytes;
    const Bytes said = random_bytes(random, packed_bytes(region));
    Bytes swapped = said;
    for (std::size_t i = 0; i < swapped.size(); i += word_bytes) {
      std::reverse(swapped.data() + i, swapped.data() + i + word_bytes);
    }
    Bytes memory(kBufferBytes);
    copy(Layout::matrix(memory.data(), region), Layout::bytes(swapped.data(), swapped.size()));
    session.poison();
    const std::uint64_t asked = session.receive(++peer_message, region);
    ASSERT_TRUE(sender.begin(peer_message, shape_of(region), said));
    ASSERT_EQ(session.await(asked).code, Code::ok);
    session.expect_has(region, memory, region);
  }
  const Region unsaid{.element_bytes = 8, .rows = 10, .cols = 1, .ld = 10};
  const std::uint64_t asked = session.receive(++peer_message, unsaid);
  ASSERT_TRUE(sender.begin(peer_message, unsaid, Bytes(80)));
  EXPECT_EQ(session.await(asked).code, Code::connection_lost);
  sender.expect_over();
}

TEST_P(DeliveryTest, AClosedMailboxEndsAMessageThatHasHalfArrived) {
  const Region region = line(4 << 20);
  const Bytes half(2 << 20, std::byte{1});
  FakeSender sender(daemon.address(), session.open_mailbox());
  sender.expect_joined();
  const std::uint64_t asked = session.receive(1, region);
  ASSERT_TRUE(sender.begin(1, region, half));
  session.close_mailbox();
  EXPECT_NE(session.await(asked).code, Code::ok);
  session.poison();
  const iovec more{const_cast<std::byte*>(half.data()), half.size()};
  (void)sender.stream.stream().try_send({&more, 1});
  sender.expect_over();
  session.expect_untouched();
}

TEST_P(DeliveryTest, ASenderThatDiesInMidMessageFailsTheReceivesAtOnce) {
  const Region region = line(4 << 20);
  FakeSender sender(daemon.address(), session.open_mailbox());
  sender.expect_joined();
  const std::uint64_t half = session.receive(1, region);
  const std::uint64_t next = session.receive(2, region);
  ASSERT_TRUE(sender.begin(1, region, Bytes(1 << 20)));
  sender.stream.disconnect();
  EXPECT_EQ(session.await(half).code, Code::connection_lost);
  EXPECT_EQ(session.await(next).code, Code::connection_lost);
  session.expect_lives();
}

TEST_P(DeliveryTest, AFailureAfterASendNamesItsOwnSequence) {
  PeerSession other(daemon.address(), kBufferBytes);
  session.connect(kNext, other);
  (void)other.receive(1, line(100));
  (void)session.receive(9, line(100));
  session.send(kNext, 1, line(100));
  Argument arguments[kMaxArguments];
  square_dgemm_in_buffer(50, kPeerBuffer, arguments);
  argument_named(arguments, dgemm(), "c").device.ld = 1;
  wire::Body body;
  encode_call(dgemm(), arguments, body);
  const std::uint64_t bad = session.client.command(Opcode::call, kPeerQueue, body.bytes());
  session.send(kNext, 2, line(100));
  const wire::Outcome outcome = session.synchronize();
  EXPECT_EQ(outcome.code, Code::invalid_argument);
  EXPECT_EQ(outcome.failed_sequence, bad);
  // The receive of a message that was never sent fails.
  EXPECT_EQ(other.await(other.receive(2, line(100))).code, Code::connection_lost);
}

std::string device_name(const testing::TestParamInfo<std::uint32_t>& device) {
  return device.param == kHostDevice ? "host" : "hidden";
}

INSTANTIATE_TEST_SUITE_P(to, DeliveryTest, testing::Values(kHostDevice, kHiddenDevice),
                         device_name);

}  // namespace
}  // namespace ob::test
