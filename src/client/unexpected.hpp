#pragma once

#include <string>

#include "base/status.hpp"
#include "session/message_receiver.hpp"

namespace ob::client {

/// Returns the protocol error for a message that is no answer to a command.
inline Status unexpected(const session::Message& message) {
  return Status(Code::protocol_error, "unexpected message " +
                                          std::to_string(static_cast<int>(message.header.opcode)) +
                                          " from the daemon (it answers nothing that was asked)");
}

}  // namespace ob::client
