// The client's end of a connection, with the real daemon and with one that breaks the protocol.

#include "client/connection.hpp"

#include "support/random.hpp"
#include "support/stub_server.hpp"

namespace ob::client {
namespace {

using test::Bytes;
using test::InProcessDaemon;
using test::line;
using test::require;
using test::StubServer;
using test::Transport;
using wire::Opcode;

constexpr Timeouts kShort{.connect_ms = 2000, .ping_after_ms = 50, .dead_after_ms = 200};

class ConnectionTest : public testing::TestWithParam<Transport> {
 protected:
  InProcessDaemon daemon{GetParam()};
  std::unique_ptr<Connection> connection = require(Connection::open(daemon.address(), {}));
};

TEST_P(ConnectionTest, LargePayloadsBothWaysAtOnceDoNotBlock) {
  auto random = test::fresh_random();
  constexpr QueueId kQueue{1};
  constexpr std::uint64_t kBytes = 24 << 20;  // larger than all buffers on the path
  ASSERT_TRUE(connection->command(Opcode::create_queue, kQueue, std::span<const std::byte>()).ok());
  Bytes sent[2];
  for (Bytes& bytes : sent) {
    bytes.resize(kBytes);
    for (std::size_t i = 0; i < kBytes; i += 8) bytes[i] = static_cast<std::byte>(random());
  }
  for (std::uint64_t id = 1; id <= 2; ++id) {
    ASSERT_TRUE(
        connection->command(Opcode::allocate, {}, wire::Allocate{BufferId{id}, kBytes}).ok());
  }
  ASSERT_TRUE(
      connection->write(kQueue, {BufferId{1}, line(kBytes)}, Layout::bytes(sent[0].data(), kBytes))
          .ok());
  // The daemon keeps the answers to these reads while the client only sends.
  constexpr int kRounds = 6;
  std::vector<Bytes> received(kRounds, Bytes(kBytes));
  for (Bytes& bytes : received) {
    const Layout destination = Layout::bytes(bytes.data(), kBytes);
    ASSERT_TRUE(connection->read(kQueue, {BufferId{1}, line(kBytes)}, destination).ok());
    ASSERT_TRUE(connection->flush().ok());
    ASSERT_TRUE(
        connection
            ->write(kQueue, {BufferId{2}, line(kBytes)}, Layout::bytes(sent[1].data(), kBytes))
            .ok());
  }
  const auto asked =
      require(connection->command(Opcode::synchronize, kQueue, std::span<const std::byte>()));
  EXPECT_EQ(require(connection->wait_done(asked)).code, Code::ok);
  for (const Bytes& bytes : received) EXPECT_TRUE(bytes == sent[0]);
}

TEST_P(ConnectionTest, CommandsBeyondTheWindowWaitForCredits) {
  constexpr QueueId kQueue{1};
  ASSERT_TRUE(connection->command(Opcode::create_queue, kQueue, std::span<const std::byte>()).ok());
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(connection->command(Opcode::record, kQueue, wire::Record{EventId{1}}).ok());
  }
  const auto asked =
      require(connection->command(Opcode::synchronize, kQueue, std::span<const std::byte>()));
  EXPECT_EQ(require(connection->wait_done(asked)).code, Code::ok);
}

TEST_P(ConnectionTest, PingsAreAnswered) {
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(connection->ping().ok());
}

TEST_P(ConnectionTest, ALostDaemonIsReported) {
  daemon.stop();
  EXPECT_EQ(connection->ping().status().code(), Code::connection_lost);
  EXPECT_EQ(Connection::open(daemon.address(), {.timeouts = kShort}).status().code(),
            Code::unavailable);
}

INSTANTIATE_TEST_SUITE_P(over, ConnectionTest, testing::Values(Transport::tcp, Transport::shm),
                         test::name);

TEST(Connection, ASilentDaemonIsGivenUp) {
  StubServer server([](transport::Stream&) {});
  auto connection = require(Connection::open(server.address(), {.timeouts = kShort}));
  const auto asked =
      require(connection->command(Opcode::synchronize, QueueId{1}, std::span<const std::byte>()));
  EXPECT_EQ(connection->wait_done(asked).status().code(), Code::deadline_exceeded);
}

// Sends the answer to the client's first ping.
void promise_signs(transport::Stream& stream, std::uint64_t longest_pause_ms) {
  wire::Header header;
  header.opcode = Opcode::pong;
  header.queue = QueueId{longest_pause_ms};
  header.sequence = 1;
  std::array<std::byte, wire::kHeaderBytes> bytes;
  wire::encode_header(header, bytes);
  const iovec part{bytes.data(), bytes.size()};
  EXPECT_EQ(require(stream.try_send({&part, 1})), bytes.size());
}

TEST(Connection, ADaemonThatBreaksItsPromiseIsGivenUpSooner) {
  StubServer server([](transport::Stream& stream) { promise_signs(stream, 50); });
  const Timeouts timeouts{.ping_after_ms = 50, .silent_after_ms = 250, .dead_after_ms = 600'000};
  auto connection = require(Connection::open(server.address(), {.timeouts = timeouts}));
  const auto asked =
      require(connection->command(Opcode::synchronize, QueueId{1}, std::span<const std::byte>()));
  EXPECT_EQ(connection->wait_done(asked).status().code(), Code::deadline_exceeded);
  EXPECT_TRUE(connection->is_unresponsive());
}

// One silence of a host is enough: the second connection would wait for ten minutes.
TEST(Connection, AnotherConnectionToASilentHostWaitsBriefly) {
  StubServer first([](transport::Stream& stream) { promise_signs(stream, 50); });
  StubServer second([](transport::Stream&) {});
  ConnectionConfig config{
      .timeouts = {.ping_after_ms = 50, .silent_after_ms = 250, .dead_after_ms = 600'000}};
  config.host = std::make_shared<HostSilence>();
  const auto silent = require(Connection::open(first.address(), config));
  const auto another = require(Connection::open(second.address(), config));
  for (Connection* connection : {silent.get(), another.get()}) {
    const auto asked =
        require(connection->command(Opcode::synchronize, QueueId{1}, std::span<const std::byte>()));
    EXPECT_EQ(connection->wait_done(asked).status().code(), Code::deadline_exceeded);
  }
}

TEST(Connection, ADaemonThatTakesNothingIsGivenUp) {
  StubServer server([](transport::Stream&) {});
  auto connection = require(Connection::open(server.address(), {.timeouts = kShort}));
  Bytes large(64 << 20);
  const auto sent = connection->write(QueueId{1}, {BufferId{1}, line(large.size())},
                                      Layout::bytes(large.data(), large.size()));
  EXPECT_EQ(sent.status().code(), Code::deadline_exceeded);
}

TEST(Connection, DataNobodyAskedForIsRefused) {
  StubServer server([](transport::Stream& stream) {
    wire::Body body;
    wire::encode(wire::Outcome{}, body);
    wire::Header header;
    header.opcode = Opcode::data;
    header.sequence = 17;
    header.body_bytes = static_cast<std::uint32_t>(body.bytes().size());
    std::array<std::byte, wire::kHeaderBytes> bytes;
    wire::encode_header(header, bytes);
    const iovec out[] = {{bytes.data(), bytes.size()},
                         {const_cast<std::byte*>(body.bytes().data()), body.bytes().size()}};
    (void)stream.try_send(out);
  });
  auto connection = require(Connection::open(server.address(), {.timeouts = kShort}));
  const auto asked =
      require(connection->command(Opcode::synchronize, QueueId{1}, std::span<const std::byte>()));
  EXPECT_EQ(connection->wait_done(asked).status().code(), Code::protocol_error);
}

TEST(Connection, AStrangerIsNoDaemon) {
  auto listener = require(transport::listen("127.0.0.1:0"));
  std::thread stranger([&] {
    auto stream = require(listener->accept(test::RawClient::deadline()));
    const std::string text = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nServer: x\r\n\r\n";
    const iovec part{const_cast<char*>(text.data()), text.size()};
    (void)stream->try_send({&part, 1});
    (void)stream->wait(true, false, test::RawClient::deadline());
  });
  EXPECT_EQ(Connection::open(listener->address(), {.timeouts = kShort}).status().code(),
            Code::protocol_error);
  stranger.join();
}

}  // namespace
}  // namespace ob::client
