#pragma once
// The part of a connection that the buffers, queues, plans and peers of one remote device share.

#include <cstdint>
#include <memory>
#include <span>

#include "client/connection.hpp"

namespace ob::client {

/// Threads: one at a time.
class DaemonLink {
 public:
  /// @param first_id the first of next_id(), for connections that share a session
  explicit DaemonLink(std::unique_ptr<Connection> connection, std::uint64_t first_id = 1)
      : connection_(std::move(connection)), next_id_(first_id) {
    keep_bytes_ = connection_->welcome().memory_bytes;
  }

  Connection& connection() noexcept { return *connection_; }

  /// True once an error made the connection permanently useless.
  bool broken() const noexcept { return broken_; }
  void abandon() noexcept { broken_ = true; }
  /// Errors: connection_lost if the link is broken
  Status usable() const;
  /// Returns `status`. Marks the link as broken if the status means this.
  Status note(Status status) noexcept;

  /// Sends a command and returns its sequence; notes failures.
  template <class Message>
  Result<std::uint64_t> command(wire::Opcode opcode, QueueId queue, const Message& message) {
    wire::Body body;
    wire::encode(message, body);
    return command(opcode, queue, body.bytes());
  }
  Result<std::uint64_t> command(wire::Opcode opcode, QueueId queue,
                                std::span<const std::byte> body = {});
  /// Sends the commands that are buffered.
  Status flush();

  /// Returns a number for a new buffer, queue, plan or peer, never twice the same.
  std::uint64_t next_id() noexcept { return next_id_++; }

  /// Returns the daemon's latest limit for the device memory that the session should hold between
  /// calls [bytes].
  std::uint64_t keep_bytes() const noexcept { return keep_bytes_; }
  void set_keep_bytes(std::uint64_t bytes) noexcept { keep_bytes_ = bytes; }

 private:
  const std::unique_ptr<Connection> connection_;
  bool broken_ = false;
  std::uint64_t next_id_;
  std::uint64_t keep_bytes_ = 0;
};

}  // namespace ob::client
