#pragma once
// Sessions that send to each other through a daemon. The tests write each message themselves.

#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include "daemon/peers/peer_link.hpp"
#include "support/forwarding_device.hpp"
#include "support/raw_client.hpp"
#include "wire/byte_swap.hpp"

namespace ob::test {

inline constexpr QueueId kPeerQueue{1};
inline constexpr BufferId kPeerBuffer{1};
/// The id of the big buffer in all sessions that make one. It is larger than socket buffers.
inline constexpr BufferId kBigBuffer{2};
inline constexpr std::uint64_t kBigBytes = std::uint64_t{32} << 20;
inline constexpr std::byte kPoison{0xA5};

inline Bytes random_bytes(std::mt19937_64& random, std::size_t size_bytes) {
  Bytes bytes(size_bytes + 8);
  for (std::size_t i = 0; i < size_bytes; i += 8) {
    const std::uint64_t some = random();
    std::memcpy(bytes.data() + i, &some, 8);
  }
  bytes.resize(size_bytes);
  return bytes;
}

inline Region matrix(std::uint64_t rows, std::uint64_t cols, std::uint64_t ld,
                     Triangle triangle = Triangle::full, std::uint64_t offset_bytes = 0,
                     std::uint32_t element_bytes = 8) {
  return {.offset_bytes = offset_bytes,
          .element_bytes = element_bytes,
          .triangle = triangle,
          .rows = rows,
          .cols = cols,
          .ld = ld,
          .word_bytes = static_cast<std::uint8_t>(std::min<std::uint32_t>(element_bytes, 8))};
}

/// Returns the shape as a peer message carries it: packed and without an offset.
inline Region shape_of(Region region) {
  region.offset_bytes = 0;
  region.ld = std::max<std::uint64_t>(1, region.rows);
  return region;
}

/// One session with one buffer and one queue.
class PeerSession {
 public:
  PeerSession(std::unique_ptr<transport::Stream> stream, std::string address,
              std::uint64_t buffer_bytes, std::uint32_t device = UINT32_MAX)
      : client(std::move(stream)), address_(std::move(address)), buffer_bytes_(buffer_bytes) {
    wire::Hello hello;
    hello.device = device;
    token_ = client.shake_hands(hello).token;
    client.command(wire::Opcode::create_queue, kPeerQueue);
    client.command(wire::Opcode::allocate, {}, wire::Allocate{kPeerBuffer, buffer_bytes});
  }
  PeerSession(const std::string& address, std::uint64_t buffer_bytes,
              std::uint32_t device = UINT32_MAX)
      : PeerSession(require(transport::connect(address, RawClient::deadline())), address,
                    buffer_bytes, device) {}

  const std::string& address() const { return address_; }
  void make_big_buffer() {
    client.command(wire::Opcode::allocate, {}, wire::Allocate{kBigBuffer, kBigBytes});
  }
  /// Disconnects without a goodbye. Returns when the daemon has dropped the session.
  void die() {
    client.disconnect();
    for (const auto until = RawClient::deadline(); transport::Clock::now() < until;) {
      RawClient next(address_);
      wire::Hello hello;
      hello.join = token_;
      next.hello(hello);
      if (next.receive().opcode() != wire::Opcode::refused) continue;
      std::this_thread::sleep_for(2 * daemon::PeerLink::kCloseTime);
      return;
    }
    ADD_FAILURE() << "the session lives on";
  }

  /// Returns the mailbox's access key.
  wire::Token open_mailbox() {
    client.command(wire::Opcode::open_mailbox);
    const Received answer = next(wire::Opcode::mailbox);
    return answer.end.ok() ? answer.as<wire::Mailbox>().access_key : wire::Token();
  }
  void close_mailbox() { client.command(wire::Opcode::close_mailbox); }
  wire::Outcome connect(PeerId peer, const wire::Token& access_key, const std::string& address) {
    client.command(wire::Opcode::connect_peer, {}, wire::ConnectPeer{peer, access_key, address});
    const Received answer = next(wire::Opcode::peer);
    return answer.end.ok() ? answer.as<wire::Outcome>() : no_answer();
  }
  /// @pre the connection succeeds
  void connect(PeerId peer, PeerSession& other) {
    const wire::Outcome outcome = connect(peer, other.open_mailbox(), other.address());
    EXPECT_EQ(outcome.code, Code::ok) << outcome.message;
  }
  void disconnect(PeerId peer) {
    client.command(wire::Opcode::disconnect_peer, {}, wire::DisconnectPeer{peer});
  }

  std::uint64_t send(PeerId peer, std::uint64_t peer_message, const Region& region,
                     BufferId buffer = kPeerBuffer) {
    return client.command(wire::Opcode::send, kPeerQueue,
                          wire::Send{peer, {peer_message}, buffer, region});
  }
  /// Returns the sequence number for await().
  std::uint64_t receive(std::uint64_t peer_message, const Region& region, PeerId next = {},
                        BufferId buffer = kPeerBuffer) {
    return client.command(wire::Opcode::receive, kPeerQueue,
                          wire::Receive{{peer_message}, buffer, region, next});
  }
  wire::Outcome await(std::uint64_t sequence) {
    while (received_.count(sequence) == 0) {
      const Received answer = client.answer();
      if (!answer.end.ok()) return no_answer();
      take(answer);
    }
    return received_.extract(sequence).mapped();
  }
  bool has_received(std::uint64_t sequence) const { return received_.count(sequence) != 0; }

  void write(const Bytes& bytes, BufferId buffer = kPeerBuffer) {
    client.command(wire::Opcode::write, kPeerQueue, wire::Write{buffer, line(bytes.size())}, bytes);
  }
  Bytes read() { return read(kPeerBuffer, buffer_bytes_); }
  Bytes read(BufferId buffer, std::uint64_t size_bytes) {
    client.command(wire::Opcode::read, kPeerQueue, wire::Read{buffer, line(size_bytes)});
    return next(wire::Opcode::data).payload;
  }
  wire::Outcome synchronize() {
    client.command(wire::Opcode::synchronize, kPeerQueue);
    const Received answer = next(wire::Opcode::done);
    return answer.end.ok() ? answer.as<wire::Outcome>() : no_answer();
  }
  /// Fills the buffer with known bytes that differ from those sent.
  void poison() { write(Bytes(buffer_bytes_, kPoison)); }
  /// Expects the elements of `from` in `source` at `region`, and poison everywhere else.
  void expect_has(const Region& region, const Bytes& source, const Region& from) {
    Bytes expected(buffer_bytes_, kPoison);
    copy(Layout::matrix(expected.data(), region),
         Layout::matrix(const_cast<std::byte*>(source.data()), from));
    EXPECT_TRUE(read() == expected)
        << region.rows << " x " << region.cols << ", ld " << region.ld << ", triangle "
        << static_cast<int>(region.triangle) << ", elements of " << region.element_bytes;
  }
  void expect_untouched() { EXPECT_TRUE(read() == Bytes(buffer_bytes_, kPoison)); }
  /// Expects that the session still answers commands.
  void expect_lives() {
    poison();
    expect_untouched();
    EXPECT_EQ(synchronize().code, Code::ok);
  }

  /// Returns the next message that is not an answer to a receive.
  Received next(wire::Opcode wanted) {
    for (;;) {
      Received answer = client.answer();
      EXPECT_TRUE(answer.end.ok()) << answer.end.message();
      if (answer.end.ok() && take(answer)) continue;
      EXPECT_TRUE(!answer.end.ok() || answer.opcode() == wanted);
      return answer;
    }
  }

  RawClient client;

 private:
  static wire::Outcome no_answer() {
    wire::Outcome outcome;
    outcome.code = Code::internal;
    outcome.message = "the connection is over";
    return outcome;
  }
  bool take(const Received& answer) {
    if (answer.opcode() != wire::Opcode::received) return false;
    received_[answer.header.sequence] = answer.as<wire::Outcome>();
    return true;
  }

  const std::string address_;
  const std::uint64_t buffer_bytes_;
  wire::Token token_{};
  std::map<std::uint64_t, wire::Outcome> received_;
};

/// The sending end of a stream between daemons.
class FakeSender {
 public:
  FakeSender(const std::string& address, const wire::Token& access_key,
             bool other_byte_order = false)
      : stream(address) {
    wire::JoinPeer join;
    join.big_endian = wire::kBigEndian != other_byte_order;
    join.access_key = access_key;
    wire::Body body;
    wire::encode(join, body);
    EXPECT_TRUE(stream.send({.opcode = wire::Opcode::join_peer, .queue = {}}, body.bytes()));
  }
  void expect_joined() {
    const Received answer = stream.receive();
    ASSERT_TRUE(answer.end.ok()) << answer.end.message();
    EXPECT_EQ(answer.opcode(), wire::Opcode::joined);
  }
  void expect_refused(Code code) {
    const Received answer = stream.receive();
    ASSERT_TRUE(answer.end.ok()) << answer.end.message();
    ASSERT_EQ(answer.opcode(), wire::Opcode::refused);
    EXPECT_EQ(answer.as<wire::Refused>().code, code) << answer.as<wire::Refused>().message;
    EXPECT_EQ(stream.receive().end.code(), Code::connection_lost);
  }
  /// Sends the first bytes of a peer_message; the caller sends the rest.
  bool begin(std::uint64_t peer_message, const Region& shape, std::span<const std::byte> first) {
    wire::Body body;
    wire::encode(wire::PeerMessage{{peer_message}, shape}, body);
    return stream.send(
        {.opcode = wire::Opcode::peer_message, .queue = {}, .payload_bytes = packed_bytes(shape)},
        body.bytes(), first);
  }
  void goodbye() { EXPECT_TRUE(stream.send({.opcode = wire::Opcode::goodbye, .queue = {}})); }
  void expect_over() {
    Received last = stream.receive();
    if (last.end.ok() && last.opcode() == wire::Opcode::failed) last = stream.receive();
    EXPECT_EQ(last.end.code(), Code::connection_lost);
  }

  RawClient stream;
};

/// Two devices: device 0 has host memory, the host cannot see the memory of device 1.
class TwoDevices {
 public:
  explicit TwoDevices(double rate_gflops = 0)
      : hidden_(null_device(std::uint64_t{1} << 28)), rate_gflops_(rate_gflops) {}

  std::vector<std::unique_ptr<Device>> devices() {
    auto all = one(null_device(std::uint64_t{1} << 28, rate_gflops_));
    auto elsewhere = std::make_unique<ForwardingDevice>(*hidden_);
    elsewhere->be_elsewhere();
    all.push_back(std::move(elsewhere));
    return all;
  }
  Device& hidden() { return *hidden_; }

 private:
  std::unique_ptr<Device> hidden_;
  double rate_gflops_;
};

}  // namespace ob::test
