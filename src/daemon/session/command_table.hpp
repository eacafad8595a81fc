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

/// The handler that a row has. It is a value of its own, because some compilers with sanitizers
/// cannot compare addresses of functions at compile time.
enum class HandledBy : std::uint8_t { nobody, connection, queue };

/// One row of the table: exactly one of the two handlers is set.
struct Command {
  using ConnectionHandler = Status (*)(ClientContext& client, const session::Message& message);
  using QueueHandler = Status (*)(ClientContext& client, const QueueCommand& command);

  wire::Opcode opcode{};
  HandledBy handled_by = HandledBy::nobody;
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
