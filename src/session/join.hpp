#pragma once
// How a stream joins something that there is already at its other end: one message, one answer.

#include <span>

#include "base/status.hpp"
#include "transport/stream.hpp"
#include "wire/codec.hpp"
#include "wire/message.hpp"

namespace ob::session {

/// Sends the first message on a stream: it has room for it.
Status ask_to_join(transport::Stream& stream, wire::Opcode opcode, std::span<const std::byte> body);

/// Waits for `joined`, and takes no byte beyond it.
/// Errors: what a refusal says; protocol_error; those of the stream
Status take_joined(transport::Stream& stream, transport::Deadline deadline);

}  // namespace ob::session
