#pragma once
// The transport of peer messages to another session, of this daemon or another.

#include <functional>
#include <memory>

#include "base/ids.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "daemon/memory/device_buffer.hpp"
#include "daemon/memory/resource_account.hpp"
#include "daemon/peers/forward_buffer.hpp"
#include "daemon/peers/mailbox.hpp"
#include "device/device.hpp"
#include "device/gate.hpp"
#include "transport/stream.hpp"

namespace ob::daemon {

/// A peer message that waits to be sent.
struct PendingSend {
  PeerMessageId peer_message;
  Region region;
  std::shared_ptr<DeviceBuffer> buffer;      ///< holds the elements; nullptr if they are forwarded:
  std::shared_ptr<ForwardBuffer> forwarded;  ///< then this holds them
  std::shared_ptr<const void> busy;          ///< released once the message is sent or dropped
  std::shared_ptr<Gate> sent = nullptr;      ///< opens when the elements may change; or nullptr
};

/// The parts of the device and the host that a link uses to send messages.
/// Threads: the link's
struct SendResources {
  Device& device;
  std::shared_ptr<ResourceAccount> host_memory;
  QueueId transfers{};   ///< a device queue, for memory that the host cannot see
  Reservation memory{};  ///< host memory for the same case

  /// Makes the queue for transfers, unless there is one.   Errors: those of the device and the
  /// account
  Status open_transfers();
};

/// Returns the shape of a region, which both ends of a message must agree on: the region without
/// its place.
Region shape_of(Region region) noexcept;

/// Sends to a session of another daemon, or of this one.
/// Threads: the link's; interrupt() by any
class PeerTransport {
 public:
  virtual ~PeerTransport() = default;
  /// Returns when the message's memory may change.
  /// @param cancelled called from time to time; true ends the wait
  virtual Status send(SendResources& resources, const PendingSend& message,
                      const std::function<bool()>& cancelled) = 0;
  /// True if the other end is still there.
  virtual bool alive() = 0;
  /// Reports that no message is missing. Nothing is sent afterwards.
  virtual void close() = 0;
  /// Reports that a message is missing. Nothing is sent afterwards.
  virtual void abort() = 0;
  /// Wakes a send() that waits for anything except `cancelled`, and makes later ones fail.
  /// Threads: any
  virtual void interrupt() noexcept = 0;
};

/// Sends over a stream on which the other daemon has answered `joined`.
std::unique_ptr<PeerTransport> make_stream_transport(std::unique_ptr<transport::Stream> stream);
/// Sends to a mailbox of this daemon.
std::unique_ptr<PeerTransport> make_local_transport(std::shared_ptr<Mailbox> mailbox);

}  // namespace ob::daemon
