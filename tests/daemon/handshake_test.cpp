// The handshake with clients, strangers and clients of other versions.

#include "client/remote_device.hpp"
#include "support/forwarding_device.hpp"
#include "support/raw_client.hpp"
#include "wire/byte_swap.hpp"

namespace ob::test {
namespace {

using wire::Opcode;

class HandshakeTest : public testing::TestWithParam<Transport> {
 protected:
  InProcessDaemon daemon{GetParam()};
  const std::unique_ptr<Device> spare = null_device();
};

TEST_P(HandshakeTest, WelcomeDescribesTheDevice) {
  RawClient client(daemon.address());
  const wire::Welcome welcome = client.shake_hands();
  EXPECT_EQ(welcome.version, wire::kVersion);
  EXPECT_EQ(welcome.backend, "null");
  EXPECT_EQ(welcome.devices, 1u);
  EXPECT_EQ(welcome.memory_bytes, std::uint64_t{1} << 28);
  EXPECT_EQ(welcome.host_visible, 1);
  EXPECT_NE(welcome.token, wire::Token{});
}

TEST_P(HandshakeTest, TheFactsFollowTheWelcome) {
  auto device = std::make_unique<ForwardingDevice>(*spare);
  device->tell({{RateFamily::lu, 1e9, 12.5}, {RateFamily::transform, 2e9, 3}});
  InProcessDaemon telling(GetParam(), one(std::move(device)));
  RawClient client(telling.address());
  client.shake_hands();
  ASSERT_EQ(client.facts().routine_rates.size(), 2u);
  EXPECT_EQ(client.facts().routine_rates[0].family, RateFamily::lu);
  EXPECT_EQ(client.facts().routine_rates[0].flop, 1e9);
  EXPECT_EQ(client.facts().routine_rates[0].gflops, 12.5);
  EXPECT_EQ(client.facts().routine_rates[1].family, RateFamily::transform);
  const auto remote = require(client::RemoteDevice::open(telling.address(), {}));
  ASSERT_EQ(remote->info().routine_rates.size(), 2u);
  EXPECT_EQ(remote->info().routine_rates[1].gflops, 3);
}

TEST_P(HandshakeTest, UnknownFlagsAreRefused) {
  struct Case {
    std::uint16_t version;
    std::uint32_t flags;
  };
  for (const auto& [version, flags] :
       {Case{8, 4u}, Case{8, 7u}, Case{8, 0x80000000u}, Case{7, 2u}, Case{7, 3u}}) {
    RawClient client(daemon.address());
    client.hello({.version = version, .flags = flags});
    const Received failed = client.receive();
    ASSERT_EQ(failed.opcode(), Opcode::failed) << flags;
    EXPECT_NE(failed.as<wire::Outcome>().message.find("flags"), std::string::npos);
  }
}

// A client of the version before works as it did: no message that it does not know.
TEST_P(HandshakeTest, TheVersionBeforeIsServed) {
  RawClient client(daemon.address());
  EXPECT_EQ(client.shake_hands({.version = 6}).version, 6);
  client.command(Opcode::create_queue, QueueId{1});
  client.command(Opcode::allocate, {}, wire::Allocate{BufferId{1}, 64});
  const Bytes sent(64, std::byte{7});
  client.command(Opcode::write, QueueId{1}, wire::Write{BufferId{1}, line(64)}, sent);
  client.command(Opcode::read, QueueId{1}, wire::Read{BufferId{1}, line(64)});
  const Received data = client.answer();
  ASSERT_EQ(data.opcode(), Opcode::data);
  EXPECT_EQ(data.payload, sent);
  EXPECT_EQ(client.synchronize(QueueId{1}).code, Code::ok);
  client.command(Opcode::goodbye);
  EXPECT_EQ(client.receive().end.code(), Code::connection_lost);
}

TEST_P(HandshakeTest, TheVersionBeforeHasNoNewMessages) {
  wire::Body fill;
  wire::encode(wire::Fill{BufferId{1}, line(64), {}}, fill);
  for (const Opcode opcode : {Opcode::fill, Opcode::mark}) {
    for (const std::uint16_t version : {6, 7}) {
      RawClient client(daemon.address());
      client.shake_hands({.version = version});
      client.command(Opcode::create_queue, QueueId{1});
      client.command(Opcode::allocate, {}, wire::Allocate{BufferId{1}, 64});
      client.command(opcode, QueueId{1},
                     opcode == Opcode::fill ? fill.bytes() : std::span<const std::byte>());
      client.command(Opcode::synchronize, QueueId{1});
      const Received answer = client.answer();
      ASSERT_TRUE(answer.end.ok()) << answer.end.message();
      EXPECT_EQ(answer.opcode() == Opcode::failed, version == 6) << to_string(opcode);
    }
  }
}

TEST_P(HandshakeTest, AStrangerGetsNoAnswer) {
  for (const std::string text : {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                 "\x01\x02\x03\x04 and then something longer still"}) {
    RawClient stranger(daemon.address());
    stranger.send_bytes(std::as_bytes(std::span(text)));
    EXPECT_EQ(stranger.receive().end.code(), Code::connection_lost);
  }
  RawClient wrong_magic(daemon.address());
  Bytes body(32, std::byte{0x11});
  wrong_magic.send({.opcode = Opcode::hello, .queue = {}}, body);
  EXPECT_EQ(wrong_magic.receive().end.code(), Code::connection_lost);
  RawClient early(daemon.address());
  early.command(Opcode::create_queue, QueueId{1});
  EXPECT_EQ(early.receive().end.code(), Code::connection_lost);
  RawClient(daemon.address()).shake_hands();
}

TEST_P(HandshakeTest, AMalformedHelloIsExplained) {
  RawClient client(daemon.address());
  wire::Body body;
  wire::encode(wire::Hello{}, body);
  Bytes bytes(body.bytes().begin(), body.bytes().end());
  bytes[6] = std::byte{9};  // big_endian
  client.send({.opcode = Opcode::hello, .queue = {}}, bytes);
  const Received failed = client.receive();
  ASSERT_EQ(failed.opcode(), Opcode::failed);
  EXPECT_EQ(failed.as<wire::Outcome>().code, Code::protocol_error);
  EXPECT_EQ(client.receive().end.code(), Code::connection_lost);
}

TEST_P(HandshakeTest, AnotherVersionIsRefusedNamingBoth) {
  RawClient client(daemon.address());
  wire::Hello hello;
  hello.version = 77;
  client.hello(hello);
  const Received refused = client.receive();
  ASSERT_EQ(refused.opcode(), Opcode::refused);
  const auto message = refused.as<wire::Refused>();
  EXPECT_EQ(message.code, Code::version_mismatch);
  EXPECT_EQ(message.version, wire::kVersion);
  EXPECT_NE(message.message.find("77"), std::string::npos);
  EXPECT_NE(message.message.find(std::to_string(wire::kVersion)), std::string::npos);
  EXPECT_EQ(client.receive().end.code(), Code::connection_lost);
}

TEST_P(HandshakeTest, TheOtherByteOrderIsWelcomeOverTcpOnly) {
  RawClient client(daemon.address());
  wire::Hello hello;
  hello.big_endian = 1 - wire::kBigEndian;
  client.hello(hello);
  const Received answer = client.receive();
  if (GetParam() == Transport::tcp) {
    ASSERT_EQ(answer.opcode(), Opcode::welcome);
    EXPECT_EQ(answer.as<wire::Welcome>().big_endian, wire::kBigEndian);
    return;
  }
  ASSERT_EQ(answer.opcode(), Opcode::refused);
  EXPECT_EQ(answer.as<wire::Refused>().code, Code::unsupported);
  EXPECT_NE(answer.as<wire::Refused>().message.find("TCP"), std::string::npos);
}

TEST_P(HandshakeTest, AMissingDeviceIsRefused) {
  RawClient client(daemon.address());
  wire::Hello hello;
  hello.device = 1;
  client.hello(hello);
  const Received refused = client.receive();
  ASSERT_EQ(refused.opcode(), Opcode::refused);
  EXPECT_EQ(refused.as<wire::Refused>().code, Code::invalid_argument);
}

TEST_P(HandshakeTest, AWrongTokenIsDenied) {
  RawClient first(daemon.address());
  wire::Hello hello;
  hello.join = first.shake_hands().token;
  hello.join[1] ^= 1;
  RawClient second(daemon.address());
  second.hello(hello);
  const Received refused = second.receive();
  ASSERT_EQ(refused.opcode(), Opcode::refused);
  EXPECT_EQ(refused.as<wire::Refused>().code, Code::denied);
}

TEST_P(HandshakeTest, ASessionEndsWithItsLastConnection) {
  wire::Hello hello;
  {
    RawClient first(daemon.address());
    hello.join = first.shake_hands().token;
    RawClient second(daemon.address());
    EXPECT_EQ(second.shake_hands(hello).token, hello.join);
    second.command(Opcode::goodbye);
    first.command(Opcode::goodbye);
    EXPECT_EQ(second.answer().end.code(), Code::connection_lost);
    EXPECT_EQ(first.answer().end.code(), Code::connection_lost);
  }
  // The stream closes just before the session ends; the test asks until the session is gone.
  for (const auto until = RawClient::deadline();;) {
    RawClient late(daemon.address());
    late.hello(hello);
    const Received answer = late.receive();
    if (answer.opcode() == Opcode::refused) break;
    ASSERT_LT(transport::Clock::now(), until);
  }
}

TEST_P(HandshakeTest, AFullDaemonSaysSo) {
  InProcessDaemon small(GetParam(), one(null_device()), 2);
  RawClient first(small.address());
  first.shake_hands();
  RawClient second(small.address());
  second.shake_hands();
  RawClient third(small.address());
  third.hello();
  const Received refused = third.receive();
  ASSERT_TRUE(refused.end.ok()) << refused.end.message();
  ASSERT_EQ(refused.opcode(), Opcode::refused);
  EXPECT_EQ(refused.as<wire::Refused>().code, Code::unavailable);
}

TEST_P(HandshakeTest, ClientsSpreadOverDevices) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < 3; ++i) devices.push_back(null_device());
  InProcessDaemon several(GetParam(), std::move(devices));
  std::vector<std::unique_ptr<RawClient>> clients;
  std::vector<int> seen(3);
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<RawClient>(several.address()));
    ++seen[clients.back()->shake_hands().device];
  }
  EXPECT_EQ(seen, (std::vector<int>{2, 2, 2}));
}

INSTANTIATE_TEST_SUITE_P(over, HandshakeTest, testing::Values(Transport::tcp, Transport::shm),
                         name);

}  // namespace
}  // namespace ob::test
