#pragma once

#include <string>

#include "base/status.hpp"
#include "session/message_receiver.hpp"

namespace ob::client {

/// The protocol error of a message that answers nothing the client asked for.
inline Status unexpected(const session::Message& message) {
  return Status(Code::protocol_error, "unexpected message " +
                                          std::to_string(static_cast<int>(message.header.opcode)) +
                                          " from the daemon (it answers nothing that was asked)");
}

}  // namespace ob::client
