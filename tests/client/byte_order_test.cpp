// A daemon of the other byte order. Words that it sends are swapped when they land; words that the
// client sends leave unswapped.

#include <algorithm>

#include "client/connection.hpp"
#include "support/random.hpp"
#include "support/stub_server.hpp"

namespace ob::client {
namespace {

using test::Bytes;
using test::require;
using test::StubServer;
using wire::Opcode;

constexpr QueueId kQueue{1};

void send_all(transport::Stream& stream, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    bytes = bytes.subspan(require(stream.try_send({&part, 1})));
  }
}

void answer(transport::Stream& stream, Opcode opcode, std::uint64_t sequence,
            const Bytes& payload = {}) {
  wire::Body body;
  wire::encode(wire::Outcome{}, body);
  wire::Header header{.opcode = opcode, .queue = kQueue, .sequence = sequence};
  header.body_bytes = static_cast<std::uint32_t>(body.bytes().size());
  header.payload_bytes = payload.size();
  std::array<std::byte, wire::kHeaderBytes> bytes;
  wire::encode_header(header, bytes);
  send_all(stream, bytes);
  send_all(stream, body.bytes());
  send_all(stream, payload);
}

TEST(ByteOrder, WhatADaemonOfTheOtherSendsIsSwapped) {
  auto random = test::fresh_random();
  Bytes sent(1000 * 16);
  for (std::byte& byte : sent) byte = static_cast<std::byte>(random());
  StubServer daemon(
      [&](transport::Stream& stream) {
        for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
          answer(stream, Opcode::data, sequence, sent);
        }
        answer(stream, Opcode::done, 4);
      },
      1 - wire::kBigEndian);
  auto connection = require(Connection::open(daemon.address(), {}));
  std::vector<Bytes> received(3, Bytes(sent.size()));
  const std::uint8_t words[] = {1, 4, 8};
  for (int i = 0; i < 3; ++i) {
    const Region region{0, 16, Triangle::full, 1000, 1, 1000, words[i]};
    const Layout destination = Layout::bytes(received[i].data(), received[i].size());
    ASSERT_TRUE(connection->read(kQueue, {BufferId{1}, region}, destination).ok());
  }
  const auto asked =
      require(connection->command(Opcode::synchronize, kQueue, std::span<const std::byte>()));
  EXPECT_EQ(require(connection->wait_done(asked)).code, Code::ok);
  for (int i = 0; i < 3; ++i) {
    Bytes expected = sent;
    for (std::size_t at = 0; at < expected.size(); at += words[i]) {
      std::reverse(expected.data() + at, expected.data() + at + words[i]);
    }
    EXPECT_TRUE(received[i] == expected) << "words of " << int{words[i]};
  }
}

TEST(ByteOrder, RegionsMustSayTheirWords) {
  StubServer daemon([](transport::Stream&) {}, 1 - wire::kBigEndian);
  auto connection = require(Connection::open(daemon.address(), {}));
  Bytes bytes(80);
  const Layout layout = Layout::bytes(bytes.data(), bytes.size());
  const Region region{.element_bytes = 8, .rows = 10, .cols = 1, .ld = 10};
  EXPECT_EQ(connection->write(kQueue, {BufferId{1}, region}, layout).status().code(),
            Code::invalid_argument);
  EXPECT_EQ(connection->read(kQueue, {BufferId{1}, region}, layout).status().code(),
            Code::invalid_argument);
  EXPECT_EQ(connection->fill(kQueue, {BufferId{1}, region, {}}).status().code(),
            Code::invalid_argument);
}

}  // namespace
}  // namespace ob::client
