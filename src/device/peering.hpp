#pragma once
// Direct copies from device to device, which do not pass through this process.

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "base/ids.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"

namespace ob {

/// The address at which a device receives peer messages.
struct Mailbox {
  std::string address;                        ///< address of the daemon, as this process knows it
  std::array<std::uint64_t, 2> access_key{};  ///< permits its holder to send; unguessable
};

/// Messages between devices. The process that has both devices gives the receiver's mailbox to the
/// sender: nobody else can send there, and the receiver accepts only messages that receive() asks
/// for. A peer message is one region. The process that has both devices chooses its number, which
/// is free again after the message has arrived. Messages to one peer travel in the order in which
/// they were sent; a message without a receive delays those behind it.
/// Threads: as the Device's
/// Source:  DAC III (copies from accelerator to accelerator)
class Peering {
 public:
  virtual ~Peering() = default;

  /// Returns the mailbox, which the first call opens.   Errors: unsupported if the device has none
  virtual Result<Mailbox> mailbox() = 0;
  /// Connects to another device's mailbox. The same mailbox gives the same peer again.
  /// Errors: unavailable, unsupported or denied if it cannot be reached; later calls fail at once
  virtual Result<PeerId> connect(const Mailbox& mailbox) = 0;

  /// Sends the region to a peer, with its contents when the queue reaches this command. The region
  /// must not change before the message has arrived. A failure sticks to the queue and is reported
  /// to the receiver.
  virtual Status send(QueueId queue, PeerId peer, PeerMessageId peer_message, BufferId buffer,
                      const Region& region) = 0;
  /// Posts a receive into the region when the queue reaches this command; the queue does not wait
  /// for the message.
  /// @param next the peer to which the message is forwarded as it arrives, under the same number;
  /// 0: none. The region may be used for other things meanwhile.
  /// @pre the region has the shape of the one that was sent
  virtual Status receive(QueueId queue, PeerMessageId peer_message, BufferId buffer,
                         const Region& region, PeerId next) = 0;
  /// Waits for a message that receive() asked for.
  /// @param give_up is called several times a second; true aborts the wait with unavailable
  /// Errors: connection_lost if the sender is gone; those of the device
  virtual Status await(PeerMessageId peer_message, const std::function<bool()>& give_up) = 0;

  /// Checks that the device still answers. A thread that waits for another device calls it, because
  /// that device may be waiting for this one.   Errors: those of a lost device
  virtual Status check() = 0;

  /// Aborts all messages and closes mailbox and peers. Afterwards no buffer is written and all
  /// numbers are free.
  virtual Status leave() = 0;
};

}  // namespace ob
