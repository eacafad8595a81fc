// Connections over several streams, and their fallback to one stream.

#include <unistd.h>

#include <fcntl.h>
#include <sys/wait.h>

#include <future>

#include "client/connection_cache.hpp"
#include "client/remote_device.hpp"
#include "support/random.hpp"
#include "support/stub_server.hpp"

namespace ob::client {
namespace {

using test::Bytes;
using test::InProcessDaemon;
using test::line;
using test::null_device;
using test::one;
using test::require;
using test::Transport;
using wire::Opcode;

std::size_t streams_of(RemoteDevice& device) {
  return device.connection().stream().descriptors().count;
}

/// Writes random bytes and reads them back, several times, with one byte changed each time.
void expect_works(RemoteDevice& device) {
  auto random = test::fresh_random();
  const QueueId queue = require(device.create_queue());
  Bytes bytes(test::uniform<std::size_t>(random, 5 << 20, 6 << 20));
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  Bytes back(bytes.size(), std::byte{0xA5});
  const BufferId buffer = require(device.allocate(bytes.size()));
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(
        device.write(queue, buffer, line(bytes.size()), Layout::bytes(bytes.data(), bytes.size()))
            .ok());
    ASSERT_TRUE(
        device.read(queue, buffer, line(bytes.size()), Layout::bytes(back.data(), back.size()))
            .ok());
    ASSERT_TRUE(device.synchronize(queue).status.ok());
    EXPECT_TRUE(back == bytes);
    bytes[bytes.size() / 2] ^= std::byte{0xFF};
  }
  EXPECT_TRUE(device.connection().ping().ok());
}

TEST(Striping, ADeviceIsReachedOverSeveralStreams) {
  InProcessDaemon daemon(Transport::tcp, one(null_device()), 256, {.block_bytes = 70'001});
  for (const unsigned streams : {1u, 2u, 3u, 16u}) {
    auto device = require(RemoteDevice::open(daemon.address(), {.streams = streams}));
    EXPECT_EQ(streams_of(*device), streams);
    expect_works(*device);
  }
}

TEST(Striping, AsManyStreamsAsAreGranted) {
  InProcessDaemon daemon(Transport::tcp, one(null_device()), 256, {.max_streams = 3});
  auto device = require(RemoteDevice::open(daemon.address(), {.streams = 1000}));
  EXPECT_EQ(streams_of(*device), 3u);
  EXPECT_NE(device->connection().stream().peer().find(" (3 streams)"), std::string::npos);
  expect_works(*device);
}

TEST(Striping, SharedMemoryIsNotStriped) {
  InProcessDaemon daemon(Transport::shm);
  auto device = require(RemoteDevice::open(daemon.address(), {.streams = 3}));
  EXPECT_EQ(streams_of(*device), 1u);
  EXPECT_TRUE(device->connection().stream().shares_memory());
  expect_works(*device);
}

/// Sends one message in the role of a daemon.
template <class Message>
void say(transport::Stream& stream, Opcode opcode, const Message& message) {
  wire::Body body;
  wire::encode(message, body);
  wire::Header header;
  header.opcode = opcode;
  header.body_bytes = static_cast<std::uint32_t>(body.bytes().size());
  std::array<std::byte, wire::kHeaderBytes> bytes;
  wire::encode_header(header, bytes);
  const iovec out[] = {{bytes.data(), bytes.size()},
                       {const_cast<std::byte*>(body.bytes().data()), body.bytes().size()}};
  (void)stream.try_send(out);
}

/// Receives the greeting of a connection, and returns its `extra_streams`.
std::uint8_t extra_streams_asked(transport::Stream& stream) {
  std::array<std::byte, 4096> bytes{};
  const iovec in{bytes.data(), bytes.size()};
  (void)stream.wait(true, false, test::RawClient::deadline());
  (void)stream.try_receive({&in, 1});
  return static_cast<std::uint8_t>(bytes[wire::kHeaderBytes + 7]);
}

wire::Welcome small_welcome() {
  wire::Welcome welcome;
  welcome.big_endian = wire::kBigEndian;
  welcome.memory_bytes = 1 << 20;
  return welcome;
}

TEST(Striping, ADaemonThatKnowsNothingOfItIsAskedAgainWithout) {
  auto listener = require(transport::listen("127.0.0.1:0"));
  auto old_daemon = std::async(std::launch::async, [&] {
    std::vector<int> asked;
    auto first = require(listener->accept(test::RawClient::deadline()));
    asked.push_back(extra_streams_asked(*first));
    wire::Outcome outcome;
    outcome.code = Code::protocol_error;  // "hello: padding is not 0"
    say(*first, Opcode::failed, outcome);
    first.reset();
    auto second = require(listener->accept(test::RawClient::deadline()));
    asked.push_back(extra_streams_asked(*second));
    say(*second, Opcode::welcome, small_welcome());
    say(*second, Opcode::facts, wire::Facts());
    (void)second->wait(true, false, test::RawClient::deadline());
    return asked;
  });
  auto connection = require(Connection::open(listener->address(), {.streams = 4}));
  EXPECT_EQ(connection->stream().descriptors().count, 1u);
  connection.reset();
  EXPECT_EQ(old_daemon.get(), (std::vector<int>{3, 0}));
}

TEST(Striping, WhereStreamsCannotBeHadOneIsEnough) {
  auto listener = require(transport::listen("127.0.0.1:0"));
  auto daemon = std::async(std::launch::async, [&] {
    std::vector<int> asked;
    auto first = require(listener->accept(test::RawClient::deadline()));
    asked.push_back(extra_streams_asked(*first));
    say(*first, Opcode::welcome, small_welcome());
    say(*first, Opcode::facts, wire::Facts());
    say(*first, Opcode::stripes, wire::Stripes{1, 4096, {1, 2}});
    auto other = require(listener->accept(test::RawClient::deadline()));
    (void)extra_streams_asked(*other);
    say(*other, Opcode::refused, wire::Refused{Code::unavailable, wire::kVersion, "full"});
    auto again = require(listener->accept(test::RawClient::deadline()));
    asked.push_back(extra_streams_asked(*again));
    say(*again, Opcode::welcome, small_welcome());
    say(*again, Opcode::facts, wire::Facts());
    (void)again->wait(true, false, test::RawClient::deadline());
    return asked;
  });
  auto connection = require(Connection::open(listener->address(), {.streams = 2}));
  EXPECT_EQ(connection->stream().descriptors().count, 1u);
  connection.reset();
  EXPECT_EQ(daemon.get(), (std::vector<int>{1, 0}));
}

TEST(Striping, MoreThanWasAskedForIsNoGrant) {
  auto listener = require(transport::listen("127.0.0.1:0"));
  auto daemon = std::async(std::launch::async, [&] {
    auto first = require(listener->accept(test::RawClient::deadline()));
    (void)extra_streams_asked(*first);
    say(*first, Opcode::welcome, small_welcome());
    say(*first, Opcode::facts, wire::Facts());
    say(*first, Opcode::stripes, wire::Stripes{2, 4096, {1, 2}});
    auto again = require(listener->accept(test::RawClient::deadline()));
    const int asked = extra_streams_asked(*again);
    say(*again, Opcode::welcome, small_welcome());
    say(*again, Opcode::facts, wire::Facts());
    (void)again->wait(true, false, test::RawClient::deadline());
    return asked;
  });
  auto connection = require(Connection::open(listener->address(), {.streams = 2}));
  EXPECT_EQ(connection->stream().descriptors().count, 1u);
  connection.reset();
  EXPECT_EQ(daemon.get(), 0);
}

TEST(Striping, ACacheStripesAndUsesItsConnectionsAgain) {
  InProcessDaemon daemon(Transport::tcp);
  ConnectionCache::Config config;
  config.servers = {daemon.address()};
  config.connection.streams = 3;
  ConnectionCache cache(config);
  std::uint64_t id = 0;
  {
    auto acquired = require(cache.acquire());
    EXPECT_EQ(streams_of(acquired.device()), 3u);
    expect_works(acquired.device());
    id = acquired.connection_id();
  }
  auto again = require(cache.acquire());
  EXPECT_EQ(again.connection_id(), id);
  EXPECT_TRUE(cache.link(0).known());
}

TEST(Striping, AForkedChildClosesAllStreamsOfItsParent) {
  InProcessDaemon daemon(Transport::tcp);
  ConnectionCache::Config config;
  config.servers = {daemon.address()};
  config.connection.streams = 4;
  ConnectionCache cache(config);
  auto acquired = require(cache.acquire());
  const transport::Descriptors descriptors = acquired.device().connection().stream().descriptors();
  ASSERT_EQ(descriptors.count, 4u);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close_inherited_connections();
    int open = 0;
    for (const int fd : descriptors) open += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    ::_exit(open);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "descriptors left open";
  expect_works(acquired.device());
}

TEST(Striping, ADescriptorThatTheProgramClosedCostsTheConnectionOnly) {
  InProcessDaemon daemon(Transport::tcp);
  ConnectionCache::Config config;
  config.servers = {daemon.address()};
  config.connection.streams = 3;
  ConnectionCache cache(config);
  std::uint64_t id = 0;
  {
    auto acquired = require(cache.acquire());
    id = acquired.connection_id();
    ::close(acquired.device().connection().stream().descriptors().numbers[2]);
  }
  auto acquired = require(cache.acquire());
  EXPECT_NE(acquired.connection_id(), id);
  expect_works(acquired.device());
}

}  // namespace
}  // namespace ob::client
