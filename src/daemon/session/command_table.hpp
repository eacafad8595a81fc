#pragma once
// The commands that a client may send after the handshake, and their handlers.

#include <cstdint>

#include "base/status.hpp"
#include "daemon/session/client_context.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// The effect of a queue's failure on a queue command, and of the command's own failure.
enum class OnFailure : std::uint8_t {
  skip,   ///< the command is skipped if the queue has failed; its own failure sticks to the queue
  run,    ///< the command runs although the queue has failed; its own failure sticks to the queue
  report  ///< the handler answers in any case; a failure that it returns ends the connection
};

/// One row of the table: exactly one of the two handlers is set.
struct Command {
  using ConnectionHandler = Status (*)(ClientContext& client, const session::Message& message);
  using QueueHandler = Status (*)(ClientContext& client, const QueueCommand& command);

  wire::Opcode opcode{};
  ConnectionHandler on_connection = nullptr;  ///< the handler of a command that belongs to no queue
  QueueHandler on_queue = nullptr;            ///< the handler of a command that a queue executes
  OnFailure on_failure = OnFailure::skip;     ///< used for queue commands
  /// The device's queue counts it as one command, whose sequence the log notes.
  bool counts_on_device = false;
};

/// Returns the row of this opcode, or nullptr if a client may not send it after the handshake.
/// Opcode::goodbye has no row: it ends the connection.
/// Threads: any
const Command* find_command(wire::Opcode opcode) noexcept;

}  // namespace ob::daemon
