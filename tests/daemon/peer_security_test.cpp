// Daemons with keys: the messages that each kind of key permits, and the daemons that accept it.

#include "support/peer_session.hpp"
#include "support/random.hpp"
#include "transport/security.hpp"

namespace ob::test {
namespace {

using transport::Security;
using transport::Side;
using wire::Opcode;

constexpr PeerId kPeer{1};
constexpr std::uint64_t kBufferBytes = std::uint64_t{5} << 20;

std::shared_ptr<const Security> key(const std::string& name, Side side, bool plain = false) {
  return require(transport::load_key(std::string(OB_TEST_KEYS) + "/" + name, side, plain));
}

std::unique_ptr<InProcessDaemon> daemon_with(std::shared_ptr<const Security> key) {
  daemon::ServerConfig config;
  config.security = std::move(key);
  return std::make_unique<InProcessDaemon>(Transport::tcp, one(null_device()), std::move(config));
}

// Connects with this key.
std::unique_ptr<transport::Stream> reach(const InProcessDaemon& daemon, const std::string& name,
                                         Side side) {
  return require(
      transport::connect(daemon.address(), RawClient::deadline(), key(name, side).get()));
}

PeerSession session_on(const InProcessDaemon& daemon) {
  return {reach(daemon, "good", Side::client), daemon.address(), kBufferBytes};
}

void expect_refused(RawClient& stream, const std::string& words) {
  const Received answer = stream.receive();
  ASSERT_TRUE(answer.end.ok()) << answer.end.message();
  ASSERT_EQ(answer.opcode(), Opcode::refused);
  EXPECT_EQ(answer.as<wire::Refused>().code, Code::denied);
  EXPECT_NE(answer.as<wire::Refused>().message.find(words), std::string::npos)
      << answer.as<wire::Refused>().message;
}

class PeerSecurityTest : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<InProcessDaemon> first = daemon_with(key("good", Side::daemon, GetParam()));
  std::unique_ptr<InProcessDaemon> second = daemon_with(key("good", Side::daemon, GetParam()));
};

TEST_P(PeerSecurityTest, DaemonsOfAPoolReachEachOther) {
  auto random = fresh_random();
  PeerSession sender = session_on(*first);
  PeerSession receiver = session_on(*second);
  const Bytes sent = random_bytes(random, kBufferBytes);
  const Region region = matrix(800, 700, 802, Triangle::lower, 128);
  sender.write(sent);
  sender.connect(kPeer, receiver);
  receiver.poison();
  const std::uint64_t asked = receiver.receive(1, region);
  sender.send(kPeer, 1, region);
  const wire::Outcome outcome = receiver.await(asked);
  ASSERT_EQ(outcome.code, Code::ok) << outcome.message;
  receiver.expect_has(region, sent, region);
}

TEST_P(PeerSecurityTest, AClientDeliversNothing) {
  PeerSession receiver = session_on(*second);
  const wire::Token access_key = receiver.open_mailbox();
  RawClient client(reach(*second, "good", Side::client));
  wire::JoinPeer join;
  join.access_key = access_key;
  wire::Body body;
  wire::encode(join, body);
  (void)client.send({.opcode = Opcode::join_peer, .queue = {}}, body.bytes());
  expect_refused(client, "only daemons");
  receiver.expect_lives();
}

TEST_P(PeerSecurityTest, AClientUsesNoGrant) {
  PeerSession owner = session_on(*second);
  wire::CreateGrant asked{GrantId{1}, kPeerBuffer, 0, 64, wire::kMayWrite, 600, 0, ""};
  owner.client.command(Opcode::create_grant, {}, asked);
  const auto granted = owner.next(Opcode::granted).as<wire::Granted>();
  ASSERT_EQ(granted.code, Code::ok) << granted.message;
  RawClient client(reach(*second, "good", Side::client));
  wire::JoinPeer join;
  join.access_key = granted.secret;
  client.command(Opcode::join_peer, {}, join);
  expect_refused(client, "only daemons");
  owner.expect_lives();
}

TEST_P(PeerSecurityTest, ADaemonOpensNoSession) {
  RawClient daemon(reach(*second, "good", Side::daemon));
  daemon.hello();
  expect_refused(daemon, "a daemon's key opens no session");
  // The same holds if the name of a key's files differs from its certificate.
  RawClient impostor(reach(*second, "swapped", Side::client));
  impostor.hello();
  expect_refused(impostor, "a daemon's key opens no session");
}

TEST_P(PeerSecurityTest, ADaemonConnectsToItsOwnPoolOnly) {
  const auto stranger = daemon_with(key("stranger", Side::daemon));
  const auto client = daemon_with(key("swapped", Side::daemon));
  InProcessDaemon keyless(Transport::tcp);
  PeerSession sender = session_on(*first);
  for (const InProcessDaemon* other : {stranger.get(), client.get()}) {
    const wire::Outcome outcome = sender.connect(kPeer, {1, 2}, other->address());
    EXPECT_EQ(outcome.code, Code::denied) << outcome.message;
  }
  const wire::Outcome outcome = sender.connect(kPeer, {1, 2}, keyless.address());
  EXPECT_EQ(outcome.code, Code::unavailable) << outcome.message;  // that daemon has no TLS
  EXPECT_EQ(sender.connect(kPeer, {1, 2}, second->address()).code, Code::invalid_argument);
  sender.expect_lives();
}

INSTANTIATE_TEST_SUITE_P(with, PeerSecurityTest, testing::Bool(), [](const auto& plain) {
  return std::string(plain.param ? "plain" : "encryption");
});

}  // namespace
}  // namespace ob::test
