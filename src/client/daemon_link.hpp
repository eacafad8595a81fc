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
  explicit DaemonLink(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {
    keep_bytes_ = connection_->welcome().memory_bytes;
  }

  Connection& connection() noexcept { return *connection_; }

  /// True once an error made the connection useless, for good.
  bool broken() const noexcept { return broken_; }
  void abandon() noexcept { broken_ = true; }
  /// Errors: connection_lost if the link is broken
  Status usable() const;
  /// Returns `status`, and marks the link as broken if that is what it says.
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

  /// A number for a new buffer, queue, plan or peer; never returned twice.
  std::uint64_t next_id() noexcept { return next_id_++; }

  /// Bytes of the device's memory that the session should hold between calls at most, as the daemon
  /// said last.
  std::uint64_t keep_bytes() const noexcept { return keep_bytes_; }
  void set_keep_bytes(std::uint64_t bytes) noexcept { keep_bytes_ = bytes; }

 private:
  const std::unique_ptr<Connection> connection_;
  bool broken_ = false;
  std::uint64_t next_id_ = 1;
  std::uint64_t keep_bytes_ = 0;
};

}  // namespace ob::client
