#pragma once
// The handshake of a stream that joins a connection or a mailbox: one message and one answer.

#include <span>

#include "base/status.hpp"
#include "transport/stream.hpp"
#include "wire/codec.hpp"
#include "wire/message.hpp"

namespace ob::session {

/// Sends the first message on a stream, which has room for it.
Status ask_to_join(transport::Stream& stream, wire::Opcode opcode, std::span<const std::byte> body);

/// Waits for `joined`, and receives no byte beyond it.
/// Errors: those of a refusal; protocol_error; those of the stream
Status take_joined(transport::Stream& stream, transport::Deadline deadline);

}  // namespace ob::session
