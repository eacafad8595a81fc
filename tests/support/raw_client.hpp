#pragma once
// A client that sends single messages, valid or not, as a test writes them.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/in_process_daemon.hpp"
#include "transport/stream.hpp"
#include "wire/codec.hpp"

namespace ob::test {

using Bytes = std::vector<std::byte>;

struct Received {
  Status end;  ///< not ok: the connection is over
  wire::Header header;
  Bytes body;
  Bytes payload;

  wire::Opcode opcode() const { return header.opcode; }
  template <class Message>
  Message as() const {
    return require(wire::decode<Message>(std::span<const std::byte>(body)));
  }
};

class RawClient {
 public:
  explicit RawClient(const std::string& address)
      : stream_(require(transport::connect(address, deadline()))) {}
  explicit RawClient(std::unique_ptr<transport::Stream> stream) : stream_(std::move(stream)) {}

  /// The deadline is far longer than any test waits.
  static transport::Deadline deadline() {
    return transport::Clock::now() + std::chrono::seconds(60);
  }

  transport::Stream& stream() { return *stream_; }
  void disconnect() { stream_.reset(); }
  std::unique_ptr<transport::Stream> release() { return std::move(stream_); }

  /// Returns false if the connection is closed.
  bool send_bytes(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
      const auto sent = stream_->try_send({&part, 1});
      if (!sent.ok()) return false;
      bytes = bytes.subspan(*sent);
      if (*sent == 0 && !stream_->wait(false, true, deadline()).ok()) return false;
    }
    return true;
  }

  bool send(wire::Header header, std::span<const std::byte> body = {},
            std::span<const std::byte> payload = {}) {
    header.body_bytes = static_cast<std::uint32_t>(body.size());
    if (header.payload_bytes == 0) header.payload_bytes = payload.size();
    std::array<std::byte, wire::kHeaderBytes> bytes;
    wire::encode_header(header, bytes);
    return send_bytes(bytes) && send_bytes(body) && send_bytes(payload);
  }

  template <class Message>
  std::uint64_t command(wire::Opcode opcode, QueueId queue, const Message& message,
                        std::span<const std::byte> payload = {}) {
    wire::Body body;
    wire::encode(message, body);
    (void)send({.opcode = opcode, .queue = queue, .sequence = ++sequence_}, body.bytes(), payload);
    return sequence_;
  }
  std::uint64_t command(wire::Opcode opcode, QueueId queue = {},
                        std::span<const std::byte> body = {}) {
    (void)send({.opcode = opcode, .queue = queue, .sequence = ++sequence_}, body);
    return sequence_;
  }

  Received receive() {
    for (;;) {
      Received message = receive_any();
      const bool sign_of_life =
          message.opcode() == wire::Opcode::pong && message.header.sequence == 0;
      if (!message.end.ok() || !sign_of_life) return message;
    }
  }
  /// Receives the next message, which may be a sign of life.
  Received receive_any() {
    Received message;
    std::array<std::byte, wire::kHeaderBytes> bytes;
    message.end = take(bytes);
    if (!message.end.ok()) return message;
    message.header = require(wire::decode_header(bytes));
    message.body.resize(message.header.body_bytes);
    message.end = take(message.body);
    message.payload.resize(message.header.payload_bytes);
    if (message.end.ok()) message.end = take(message.payload);
    return message;
  }

  /// Returns the next message, without those that daemons send unasked (credits, signs of life).
  Received answer() {
    for (;;) {
      Received message = receive();
      if (!message.end.ok() || message.opcode() != wire::Opcode::credit) return message;
    }
  }

  void hello(const wire::Hello& message = {}) {
    wire::Body body;
    wire::encode(message, body);
    (void)send({.opcode = wire::Opcode::hello, .queue = {}}, body.bytes());
  }
  wire::Welcome shake_hands(const wire::Hello& message = {}) {
    hello(message);
    const Received welcome = receive();
    EXPECT_TRUE(welcome.end.ok()) << welcome.end.message();
    EXPECT_EQ(welcome.opcode(), wire::Opcode::welcome);
    if (message.version >= 7) facts_ = receive_facts();
    if ((message.flags & wire::kWantsKernels) != 0) {
      const Received kernels = receive();
      EXPECT_EQ(kernels.opcode(), wire::Opcode::kernel_support);
      if (kernels.end.ok()) kernels_ = kernels.as<wire::KernelSupport>();
    }
    return welcome.end.ok() ? welcome.as<wire::Welcome>() : wire::Welcome();
  }
  /// Receives the message that follows welcome.
  wire::Facts receive_facts() {
    const Received facts = receive();
    EXPECT_TRUE(facts.end.ok()) << facts.end.message();
    EXPECT_EQ(facts.opcode(), wire::Opcode::facts);
    return facts.end.ok() ? facts.as<wire::Facts>() : wire::Facts();
  }
  /// The facts that shake_hands() has received.
  const wire::Facts& facts() const { return facts_; }
  const wire::KernelSupport& kernels() const { return kernels_; }

  wire::Outcome synchronize(QueueId queue) {
    const std::uint64_t asked = command(wire::Opcode::synchronize, queue);
    const Received done = answer();
    EXPECT_TRUE(done.end.ok()) << done.end.message();
    EXPECT_EQ(done.opcode(), wire::Opcode::done);
    EXPECT_EQ(done.header.sequence, asked);
    return done.end.ok() ? done.as<wire::Outcome>() : wire::Outcome();
  }

 private:
  Status take(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
      const iovec part{bytes.data(), bytes.size()};
      OB_ASSIGN_OR_RETURN(const std::size_t received, stream_->try_receive({&part, 1}));
      bytes = bytes.subspan(received);
      if (received == 0) OB_RETURN_IF_ERROR(stream_->wait(true, false, deadline()));
    }
    return {};
  }

  std::unique_ptr<transport::Stream> stream_;
  std::uint64_t sequence_ = 0;
  wire::Facts facts_;
  wire::KernelSupport kernels_;
};

inline Region line(std::uint64_t size_bytes, std::uint64_t offset_bytes = 0) {
  return {.offset_bytes = offset_bytes, .rows = size_bytes, .cols = 1, .ld = size_bytes};
}

}  // namespace ob::test
