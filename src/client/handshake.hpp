#pragma once
// The client's side of a handshake (docs/wire.md, section 3).

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "session/message_receiver.hpp"
#include "session/message_sender.hpp"
#include "transport/striped_stream.hpp"
#include "wire/message.hpp"

namespace ob::client {

/// The stream of a new connection, with both of its ends.
struct NewStream {
  transport::StripedStream& stream;
  const std::string& address;  ///< for messages
  session::MessageSender& sender;
  session::MessageReceiver& receiver;
  transport::Deadline deadline;
};

/// The description that a daemon gives of itself and of the session's device.
struct Greeting {
  wire::Welcome welcome;
  wire::Facts facts;
  wire::KernelSupport kernels;  ///< if hello asks for it
};

/// Sends hello and waits for the answer.
/// @param hello without the fields about this program, which are filled in here
/// Errors: the daemon's refusal; version_mismatch (names both versions); protocol_error;
/// deadline_exceeded
Result<Greeting> shake_hands(const NewStream& with, wire::Hello hello);

/// Opens the further streams that the daemon grants, and stripes the connection over them.
/// Errors: those of join_streams(); protocol_error
/// @pre shake_hands() asked for `extra_streams`, at least one
Status add_streams(const NewStream& with, std::uint8_t extra_streams);

}  // namespace ob::client
