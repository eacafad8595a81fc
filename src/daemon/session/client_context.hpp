#pragma once
// The arguments that all handlers of a client's commands share.

#include <cstdint>
#include <memory>

#include "base/ids.hpp"
#include "daemon/io/channel.hpp"
#include "daemon/io/element_byte_order.hpp"
#include "daemon/peers/peer_directory.hpp"
#include "daemon/session/session.hpp"
#include "daemon/session/session_directory.hpp"
#include "daemon/session/session_queue.hpp"
#include "session/message_receiver.hpp"

namespace ob::daemon {

/// One client connection.
/// Memory: answers under way may hold the channel; the rest ends with the connection
struct ClientContext {
  std::shared_ptr<Channel> channel;
  std::shared_ptr<Session> session;
  SessionDirectory& sessions;
  PeerDirectory& peers;
  ElementByteOrder byte_order;
  std::uint16_t version;  ///< of the protocol, as the client speaks it

  /// Names the connection as the owner of queues.
  const void* owner() const noexcept { return channel.get(); }
};

/// A command of a queue.
struct QueueCommand {
  const session::Message& message;
  const std::shared_ptr<SessionQueue>& queue;

  QueueId id() const noexcept { return message.header.queue; }
  std::uint64_t sequence() const noexcept { return message.header.sequence; }
};

}  // namespace ob::daemon
