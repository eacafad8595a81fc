// Peer messages that are refused. The sessions and the peers stay unharmed.

#include <chrono>
#include <thread>

#include "support/peer_session.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

using wire::Opcode;

constexpr PeerId kPeer{1};
constexpr std::uint64_t kBufferBytes = std::uint64_t{1} << 20;

// A sender and a receiver of one daemon or two, and a client that is not involved.
class PeerLimitsTest : public testing::TestWithParam<bool> {
 protected:
  void TearDown() override {
    bystander.expect_lives();
    RawClient(there.address()).shake_hands();
    RawClient(here.address()).shake_hands();
  }
  void expect_failure(PeerSession& session, Code code, const std::string& words) {
    const wire::Outcome outcome = session.synchronize();
    EXPECT_EQ(outcome.code, code);
    EXPECT_NE(outcome.message.find(words), std::string::npos) << outcome.message;
    EXPECT_EQ(session.synchronize().code, Code::ok);
  }
  void expect_refusal(const wire::Outcome& outcome, Code code, const std::string& words) {
    EXPECT_EQ(outcome.code, code) << outcome.message;
    EXPECT_NE(outcome.message.find(words), std::string::npos) << outcome.message;
  }
  // Expects that a violation of the protocol ends the connection with a message.
  void expect_cut_off(PeerSession& session, const std::string& words) {
    for (;;) {
      const Received answer = session.client.answer();
      ASSERT_TRUE(answer.end.ok()) << answer.end.message();
      if (answer.opcode() != Opcode::failed) continue;
      EXPECT_EQ(answer.as<wire::Outcome>().code, Code::protocol_error);
      EXPECT_NE(answer.as<wire::Outcome>().message.find(words), std::string::npos)
          << answer.as<wire::Outcome>().message;
      return;
    }
  }

  InProcessDaemon here{Transport::tcp};
  InProcessDaemon other{Transport::tcp};
  InProcessDaemon& there = GetParam() ? here : other;
  PeerSession sender{here.address(), kBufferBytes};
  PeerSession receiver{there.address(), kBufferBytes};
  PeerSession bystander{there.address(), kBufferBytes};
};

TEST_P(PeerLimitsTest, AnAccessKeyIsNeeded) {
  const wire::Token access_key = receiver.open_mailbox();
  EXPECT_NE(access_key, wire::Token{});
  EXPECT_EQ(receiver.open_mailbox(), access_key);  // the same mailbox
  const wire::Token wrong{access_key[0], access_key[1] ^ 1};
  for (const wire::Token& token : {wrong, wire::Token{}, wire::Token{1, 2}}) {
    expect_refusal(sender.connect(kPeer, token, receiver.address()), Code::invalid_argument,
                   "no such mailbox");
  }
  receiver.close_mailbox();
  EXPECT_EQ(receiver.synchronize().code, Code::ok);
  expect_refusal(sender.connect(kPeer, access_key, receiver.address()), Code::invalid_argument,
                 "no such mailbox");
  const wire::Token next = receiver.open_mailbox();
  EXPECT_NE(next, access_key);
  EXPECT_EQ(sender.connect(kPeer, next, receiver.address()).code, Code::ok);
}

TEST_P(PeerLimitsTest, ASessionIsNoPeerOfItsOwn) {
  expect_refusal(sender.connect(kPeer, sender.open_mailbox(), sender.address()),
                 Code::invalid_argument, "no peer of its own");
}

TEST_P(PeerLimitsTest, UnknownObjectsAreReported) {
  sender.send(kPeer, 1, line(8));
  expect_failure(sender, Code::invalid_argument, "unknown peer 1");
  const auto refused = [&](std::uint64_t asked, const std::string& words) {
    expect_refusal(receiver.await(asked), Code::invalid_argument, words);
    EXPECT_EQ(receiver.synchronize().code, Code::ok);  // its queue has not failed
  };
  refused(receiver.receive(1, line(8)), "no mailbox");
  (void)receiver.open_mailbox();
  refused(receiver.receive(1, line(8), PeerId{9}), "unknown peer 9");
  refused(receiver.receive(1, line(8), {}, BufferId{9}), "9");
  refused(receiver.receive(1, line(kBufferBytes + 1)), "exceeds buffer 1");
  refused(receiver.receive(1, line(8, kBufferBytes - 7)), "exceeds buffer 1");
  refused(receiver.receive(1, matrix(UINT64_MAX / 8, 4, UINT64_MAX / 8)), "exceeds buffer 1");
  sender.connect(kPeer, receiver);
  const std::uint64_t asked = receiver.receive(1, line(8));
  sender.send(kPeer, 1, line(8));
  EXPECT_EQ(receiver.await(asked).code, Code::ok);  // the failures have no later effect
}

// A receive must not wait forever.
TEST_P(PeerLimitsTest, AMessageThatCannotBeSentFailsItsReceive) {
  sender.connect(kPeer, receiver);
  const std::uint64_t asked = receiver.receive(1, line(kBufferBytes));
  sender.send(kPeer, 1, line(kBufferBytes + 1));
  expect_failure(sender, Code::invalid_argument, "send exceeds buffer 1");
  EXPECT_EQ(receiver.await(asked).code, Code::connection_lost);
  sender.send(kPeer, 1, line(8));
  expect_failure(sender, Code::unavailable, "lost");
  receiver.close_mailbox();
  sender.disconnect(kPeer);
  sender.connect(kPeer, receiver);
  const std::uint64_t again = receiver.receive(1, line(8));
  sender.send(kPeer, 1, line(8), BufferId{77});
  expect_failure(sender, Code::invalid_argument, "77");
  EXPECT_EQ(receiver.await(again).code, Code::connection_lost);
}

TEST_P(PeerLimitsTest, AMessageOfAnotherShapeIsRefused) {
  const Region wanted = matrix(30, 20, 40);
  Region words = matrix(30, 20, 30);
  words.word_bytes = 4;
  for (const Region& sent :
       {matrix(20, 30, 20), matrix(30, 21, 30), matrix(30, 20, 30, Triangle::upper),
        matrix(60, 20, 60, Triangle::full, 0, 4), words, line(30 * 20 * 8)}) {
    receiver.poison();
    sender.connect(kPeer, receiver);
    const std::uint64_t asked = receiver.receive(1, wanted);
    sender.send(kPeer, 1, sent);
    EXPECT_EQ(receiver.await(asked).code, Code::connection_lost);
    receiver.expect_untouched();
    EXPECT_EQ(sender.synchronize().code, Code::ok);
    sender.disconnect(kPeer);
    receiver.close_mailbox();
  }
}

TEST_P(PeerLimitsTest, ANumberHasOneReceiveAtATime) {
  sender.connect(kPeer, receiver);
  for (int i = 0; i < 3; ++i) {  // the memory is free again after each arrival
    const std::uint64_t asked = receiver.receive(5, line(8));
    sender.send(kPeer, 5, line(8));
    EXPECT_EQ(receiver.await(asked).code, Code::ok);
  }
  const std::uint64_t first = receiver.receive(5, line(8));
  const wire::Outcome second = receiver.await(receiver.receive(5, line(8)));
  EXPECT_EQ(second.code, Code::invalid_argument);
  EXPECT_NE(second.message.find("peer message 5 already has a receive"), std::string::npos);
  sender.send(kPeer, 5, line(8));
  EXPECT_EQ(receiver.await(first).code, Code::ok);  // the first one stands
}

TEST_P(PeerLimitsTest, APeersIdIsUsedOnce) {
  sender.connect(kPeer, receiver);
  (void)sender.client.command(
      Opcode::connect_peer, {},
      wire::ConnectPeer{kPeer, receiver.open_mailbox(), receiver.address()});
  expect_cut_off(sender, "peer id 1 is in use");
}

TEST_P(PeerLimitsTest, TheNumberOfPeersIsLimited) {
  const wire::Token access_key = receiver.open_mailbox();
  for (std::uint64_t id = 1; id <= 64; ++id) {
    ASSERT_EQ(sender.connect({id}, access_key, receiver.address()).code, Code::ok) << id;
  }
  expect_refusal(sender.connect({65}, access_key, receiver.address()), Code::denied,
                 "too many peers");
  sender.disconnect({7});
  EXPECT_EQ(sender.connect({65}, access_key, receiver.address()).code, Code::ok);
  const std::uint64_t asked = receiver.receive(1, line(8));
  sender.send({65}, 1, line(8));
  EXPECT_EQ(receiver.await(asked).code, Code::ok);
}

TEST_P(PeerLimitsTest, TheNumberOfReceivesIsLimited) {
  (void)receiver.open_mailbox();
  std::uint64_t last = 0;
  for (std::uint64_t peer_message = 1; peer_message <= 4097; ++peer_message) {
    last = receiver.receive(peer_message, line(8));
    if (peer_message % 100 == 0) (void)receiver.synchronize();  // this brings credits
  }
  expect_refusal(receiver.await(last), Code::denied, "4096");
  receiver.close_mailbox();
  EXPECT_EQ(receiver.await(last - 1).code, Code::unavailable);
}

INSTANTIATE_TEST_SUITE_P(of, PeerLimitsTest, testing::Bool(), [](const auto& one_daemon) {
  return std::string(one_daemon.param ? "one_daemon" : "two_daemons");
});

// --- streams with messages that no daemon sends --------------------------------------------------

class StrangerTest : public testing::Test {
 protected:
  InProcessDaemon daemon{Transport::tcp};
  PeerSession session{daemon.address(), kBufferBytes};
};

TEST_F(StrangerTest, WithoutTheAccessKeyNothingIsReceived) {
  const wire::Token access_key = session.open_mailbox();
  session.poison();
  const std::uint64_t asked = session.receive(1, line(100));
  for (const wire::Token& wrong : {wire::Token{}, wire::Token{access_key[1], access_key[0]}}) {
    FakeSender stranger(daemon.address(), wrong);
    (void)stranger.begin(1, line(100), Bytes(100));
    stranger.expect_refused(Code::invalid_argument);
  }
  PeerSession client(daemon.address(), kBufferBytes);  // a client cannot use it either
  wire::Body body;
  wire::encode(wire::PeerMessage{{1}, line(100)}, body);
  (void)client.client.send({.opcode = Opcode::peer_message, .queue = {}, .sequence = 3},
                           body.bytes(), Bytes(100));
  EXPECT_EQ(client.client.answer().opcode(), Opcode::failed);
  session.expect_untouched();
  EXPECT_FALSE(session.has_received(asked));
}

TEST_F(StrangerTest, AnotherVersionIsRefusedNamingBoth) {
  RawClient stranger(daemon.address());
  wire::JoinPeer join;
  join.version = 77;
  wire::Body body;
  wire::encode(join, body);
  (void)stranger.send({.opcode = Opcode::join_peer, .queue = {}}, body.bytes());
  const Received answer = stranger.receive();
  ASSERT_EQ(answer.opcode(), Opcode::refused);
  EXPECT_EQ(answer.as<wire::Refused>().code, Code::version_mismatch);
  EXPECT_NE(answer.as<wire::Refused>().message.find("77"), std::string::npos);
}

TEST_F(StrangerTest, APeerMaySendPeerMessagesOnly) {
  const auto breaks = [&](auto&& speak) {
    FakeSender sender(daemon.address(), session.open_mailbox());
    sender.expect_joined();
    const std::uint64_t asked = session.receive(1, line(100));
    speak(sender);
    EXPECT_EQ(session.await(asked).code, Code::connection_lost);
    sender.expect_over();
    session.expect_lives();
    session.close_mailbox();
  };
  breaks([](FakeSender& sender) { sender.stream.hello(); });
  breaks([](FakeSender& sender) { sender.stream.command(Opcode::ping); });
  breaks([](FakeSender& sender) { sender.stream.command(Opcode::create_queue, QueueId{1}); });
  breaks([](FakeSender& sender) {
    sender.stream.command(Opcode::send, QueueId{1}, wire::Send{{1}, {1}, {1}, line(8)});
  });
  breaks([](FakeSender& sender) {  // longer than its header says
    wire::Body body;
    wire::encode(wire::PeerMessage{{1}, line(100)}, body);
    (void)sender.stream.send({.opcode = Opcode::peer_message, .queue = {}}, body.bytes(),
                             Bytes(101));
  });
  breaks([](FakeSender& sender) {
    wire::Body body;
    wire::encode(wire::PeerMessage{{1}, line(100, 8)}, body);
    (void)sender.stream.send({.opcode = Opcode::peer_message, .queue = {}}, body.bytes(),
                             Bytes(100));
  });
}

TEST_F(StrangerTest, GoodbyeBreaksNothing) {
  FakeSender sender(daemon.address(), session.open_mailbox());
  sender.expect_joined();
  FakeSender other(daemon.address(), session.open_mailbox());
  other.expect_joined();
  sender.goodbye();
  EXPECT_EQ(sender.stream.receive().end.code(), Code::connection_lost);
  const std::uint64_t asked = session.receive(1, line(100));
  EXPECT_TRUE(other.begin(1, line(100), Bytes(100)));
  EXPECT_EQ(session.await(asked).code, Code::ok);
}

TEST_F(StrangerTest, AnInvalidAnswerMakesNoPeer) {
  auto listener = require(transport::listen("127.0.0.1:0"));
  for (const std::string& words : {std::string("HTTP/1.1 400 Bad Request\r\n\r\n and more of it"),
                                   std::string(64, '\0'), std::string()}) {
    std::thread stranger([&] {
      auto stream = require(listener->accept(RawClient::deadline()));
      RawClient answering(std::move(stream));
      (void)answering.send_bytes(std::as_bytes(std::span(words)));
      (void)answering.receive();
    });
    const wire::Outcome outcome = session.connect(kPeer, {1, 2}, listener->address());
    stranger.join();
    EXPECT_EQ(outcome.code, Code::unavailable);
    EXPECT_NE(outcome.message.find(listener->address()), std::string::npos) << outcome.message;
    session.expect_lives();
  }
}

// --- the daemons that a daemon connects to -------------------------------------------------------

TEST_F(StrangerTest, WithoutAKeyItConnectsOnThisMachineOnly) {
  const auto code = [&](const std::string& address) {
    return session.connect(kPeer, {1, 2}, address).code;
  };
  EXPECT_EQ(code("192.0.2.1:7770"), Code::denied);
  EXPECT_EQ(code("127.0.0.1.example.org:7770"), Code::denied);
  EXPECT_EQ(code("unix:/tmp/nobody"), Code::unsupported);
  EXPECT_EQ(code("ucx:127.0.0.1:7770"), Code::unsupported);
  EXPECT_EQ(code("nonsense"), Code::invalid_argument);
  EXPECT_EQ(code(""), Code::invalid_argument);
  EXPECT_EQ(code("127.0.0.1:1"), Code::unavailable);
  session.expect_lives();
}

TEST_F(StrangerTest, ADaemonThatMayNotConnectDoesNot) {
  daemon::ServerConfig config;
  config.may_connect = false;
  InProcessDaemon recluse(Transport::tcp, one(null_device()), config);
  PeerSession inside(recluse.address(), kBufferBytes);
  const wire::Outcome outcome = inside.connect(kPeer, session.open_mailbox(), daemon.address());
  EXPECT_EQ(outcome.code, Code::denied);
  EXPECT_NE(outcome.message.find("--no-peers"), std::string::npos);
  // Others may connect to this daemon, and its own sessions need no connection.
  session.connect(kPeer, inside);
  PeerSession neighbour(recluse.address(), kBufferBytes);
  neighbour.connect(kPeer, inside);
  for (PeerSession* sender : {&session, &neighbour}) {
    const std::uint64_t asked = inside.receive(1, line(8));
    sender->send(kPeer, 1, line(8));
    EXPECT_EQ(inside.await(asked).code, Code::ok);
  }
}

// --- after the end -------------------------------------------------------------------------------

TEST(PeerEnds, HostMemoryIsReleased) {
  TwoDevices hardware[2];
  daemon::ServerConfig config;
  // A link, a source, and the writes or reads of a queue take 4 MiB of it each.
  config.session.host_memory_bytes = 16 << 20;
  InProcessDaemon first(Transport::tcp, hardware[0].devices(), config);
  InProcessDaemon second(Transport::tcp, hardware[1].devices(), config);
  PeerSession a(first.address(), kBufferBytes, 1);
  for (PeerSession* b : {new PeerSession(second.address(), kBufferBytes, 1),
                         new PeerSession(first.address(), kBufferBytes, 1)}) {
    const std::unique_ptr<PeerSession> owned(b);
    for (int i = 0; i < 20; ++i) {
      a.connect(kPeer, *b);
      const std::uint64_t asked = b->receive(1, line(kBufferBytes));
      a.send(kPeer, 1, line(kBufferBytes));
      const wire::Outcome outcome = b->await(asked);
      ASSERT_EQ(outcome.code, Code::ok) << i << outcome.message;
      a.disconnect(kPeer);
      if (i % 2 == 0) b->close_mailbox();
    }
  }
  EXPECT_EQ(a.connect({2}, a.open_mailbox(), a.address()).code, Code::invalid_argument);
  a.expect_lives();
}

class PeerDrainTest : public testing::TestWithParam<bool> {};

// One daemon stops while the client of the other one waits.
TEST_P(PeerDrainTest, DrainingCutsNothingThatAClientWaitsFor) {
  InProcessDaemon first(Transport::tcp);
  InProcessDaemon second(Transport::tcp);
  PeerSession sender(first.address(), kBufferBytes);
  PeerSession receiver(second.address(), kBufferBytes);
  auto random = fresh_random();
  sender.make_big_buffer();
  receiver.make_big_buffer();
  const Bytes sent = random_bytes(random, kBigBytes);
  sender.write(sent, kBigBuffer);
  sender.connect(kPeer, receiver);
  std::uint64_t asked = 0;
  const bool of_sender = GetParam();
  if (!of_sender) asked = receiver.receive(1, line(kBigBytes), {}, kBigBuffer);
  if (of_sender) sender.send(kPeer, 1, line(kBigBytes), kBigBuffer);
  EXPECT_EQ(sender.synchronize().code, Code::ok);
  EXPECT_EQ(receiver.synchronize().code, Code::ok);
  std::thread draining([&] { (of_sender ? first : second).server().drain(30); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  if (of_sender) asked = receiver.receive(1, line(kBigBytes), {}, kBigBuffer);
  if (!of_sender) sender.send(kPeer, 1, line(kBigBytes), kBigBuffer);
  const wire::Outcome outcome = receiver.await(asked);
  EXPECT_EQ(outcome.code, Code::ok) << outcome.message;
  EXPECT_TRUE(!of_sender || receiver.read(kBigBuffer, kBigBytes) == sent);
  draining.join();
}

INSTANTIATE_TEST_SUITE_P(of, PeerDrainTest, testing::Bool(), [](const auto& of_sender) {
  return std::string(of_sender.param ? "sender" : "receiver");
});

}  // namespace
}  // namespace ob::test
