// Streams that use grants, as an attacker would write them without a daemon's code.

#include "support/peer_session.hpp"

namespace ob::test {
namespace {

using wire::Opcode;

constexpr std::uint64_t kBytes = 4096;
constexpr GrantId kGrant{1};

// A session with a grant of all of its buffer, on a daemon without a key.
class GrantStreamTest : public testing::Test {
 protected:
  wire::Token grant(const std::string& user = {}, std::uint32_t uses = 0) {
    wire::CreateGrant asked;
    asked.grant = kGrant;
    asked.buffer = kPeerBuffer;
    asked.size_bytes = kBytes;
    asked.may = wire::kMayRead | wire::kMayWrite;
    asked.seconds = 600;
    asked.uses = uses;
    asked.user = user;
    owner.client.command(Opcode::create_grant, {}, asked);
    const auto granted = owner.next(Opcode::granted).as<wire::Granted>();
    EXPECT_EQ(granted.code, Code::ok) << granted.message;
    return granted.secret;
  }
  void revoke() {
    owner.client.command(Opcode::revoke_grant, {}, wire::RevokeGrant{kGrant});
    EXPECT_EQ(owner.synchronize().code, Code::ok);
  }
  // Opens a stream that says that it asks for this user.
  RawClient joined(const wire::Token& secret, const std::string& user = {}) {
    RawClient stream(daemon.address());
    wire::JoinPeer join;
    join.big_endian = wire::kBigEndian;
    join.access_key = secret;
    join.identity = user;
    stream.command(Opcode::join_peer, {}, join);
    EXPECT_EQ(stream.receive().opcode(), Opcode::joined);
    return stream;
  }
  static wire::Outcome store(RawClient& stream, const wire::Token& secret,
                             std::uint64_t bytes = kBytes) {
    stream.command(Opcode::store, {}, wire::GrantRange{secret, 0, bytes},
                   Bytes(bytes, std::byte{7}));
    const Received answer = stream.receive();
    EXPECT_EQ(answer.opcode(), Opcode::stored);
    return answer.end.ok() ? answer.as<wire::Outcome>() : wire::Outcome();
  }

  // Data lands in the memory of this device as it arrives.
  InProcessDaemon daemon{
      Transport::tcp,
      one(require(cpu::create({.memory_bytes = 1 << 24, .threads = 1, .gflops_double = 10})))};
  PeerSession owner{daemon.address(), kBytes};
};

TEST_F(GrantStreamTest, WithoutAKeyANameProvesNothing) {
  owner.poison();
  const wire::Token secret = grant("ada");
  for (const char* name : {"ada", "certificate ada", ""}) {
    RawClient stream = joined(secret, name);
    EXPECT_EQ(store(stream, secret).code, Code::denied) << name;
  }
  owner.expect_untouched();
}

TEST_F(GrantStreamTest, ARecordedConversationCountsAsAUse) {
  owner.poison();
  const wire::Token secret = grant({}, 1);
  RawClient first = joined(secret);
  EXPECT_EQ(store(first, secret).code, Code::ok);
  owner.poison();
  // The same bytes again, on this stream and on another one.
  EXPECT_EQ(store(first, secret).code, Code::denied);
  RawClient second = joined(secret);
  EXPECT_EQ(store(second, secret).code, Code::denied);
  revoke();
  EXPECT_EQ(store(second, secret).code, Code::denied);
  RawClient third(daemon.address());
  wire::JoinPeer join;
  join.access_key = secret;
  third.command(Opcode::join_peer, {}, join);
  EXPECT_EQ(third.receive().opcode(), Opcode::refused);
  owner.expect_untouched();
}

TEST_F(GrantStreamTest, AStoreThatLiesAboutItsLengthEndsItsStream) {
  owner.poison();
  const wire::Token secret = grant();
  for (const std::uint64_t said : {std::uint64_t{0}, kBytes - 1, kBytes + 1, UINT64_MAX}) {
    RawClient stream = joined(secret);
    stream.command(Opcode::store, {}, wire::GrantRange{secret, 0, said}, Bytes(kBytes));
    Received last = stream.receive();
    while (last.end.ok() && last.opcode() == Opcode::failed) last = stream.receive();
    EXPECT_FALSE(last.end.ok()) << said;
  }
  owner.expect_untouched();
}

TEST_F(GrantStreamTest, OtherMessagesEndTheStream) {
  owner.poison();
  const wire::Token secret = grant();
  for (const Opcode opcode : {Opcode::hello, Opcode::write, Opcode::join_peer, Opcode::put}) {
    RawClient stream = joined(secret);
    stream.command(opcode, kPeerQueue);
    Received last = stream.receive();
    while (last.end.ok() && last.opcode() == Opcode::failed) last = stream.receive();
    EXPECT_FALSE(last.end.ok()) << static_cast<int>(opcode);
  }
  owner.expect_lives();
}

// A store that stops in the middle holds up neither its owner nor the end of the grant.
TEST_F(GrantStreamTest, AStoreThatStopsEndsWithTheGrant) {
  owner.poison();
  const wire::Token secret = grant();
  RawClient stream = joined(secret);
  wire::Body body;
  wire::encode(wire::GrantRange{secret, 0, kBytes}, body);
  ASSERT_TRUE(stream.send({.opcode = Opcode::store, .queue = {}, .payload_bytes = kBytes},
                          body.bytes(), Bytes(100, std::byte{7})));
  while (owner.read()[0] != std::byte{7}) std::this_thread::yield();
  revoke();
  EXPECT_FALSE(stream.receive().end.ok());
  owner.expect_lives();
}

}  // namespace
}  // namespace ob::test
