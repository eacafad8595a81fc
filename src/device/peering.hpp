#pragma once
// Copies from device to device that do not pass through this process.

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "base/ids.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"

namespace ob {

/// Where a device receives what others send it.
struct Mailbox {
  std::string address;                        ///< of its daemon, as this process knows it
  std::array<std::uint64_t, 2> access_key{};  ///< lets its holder send; unguessable
};

/// What a Device can do that other devices can reach. Who sends is told the receiver's mailbox, by
/// whoever has both: nobody else can send there, and only what receive() asks for is taken.
/// A peer message is one region; its number is chosen by whoever has both devices, and is free
/// again once it has arrived. Messages to one peer travel in the order in which they were sent, and
/// one that is not asked for yet holds up those behind it. Threads: as the Device's      Source:
/// DAC III (copies from accelerator to accelerator)
class Peering {
 public:
  virtual ~Peering() = default;

  /// Opens it on first use.   Errors: unsupported if the device cannot
  virtual Result<Mailbox> mailbox() = 0;
  /// Waits until the other device can be sent to. The same mailbox gives the same peer again.
  /// Errors: unavailable, unsupported or denied if it cannot be reached, then at once when asked
  /// again
  virtual Result<PeerId> connect(const Mailbox& mailbox) = 0;

  /// Sends the region, as it is when the queue gets here, to a peer. It must not change before the
  /// peer message has arrived. What fails here is told to those who receive, and sticks to the
  /// queue.
  virtual Status send(QueueId queue, PeerId peer, PeerMessageId peer_message, BufferId buffer,
                      const Region& region) = 0;
  /// Takes the peer message from when the queue gets here; the queue does not wait for it.
  /// @param next is handed the peer message as it arrives, under the same number, whatever the
  /// region is used for meanwhile; 0: nobody is
  /// @pre the region has the shape of the one that was sent
  virtual Status receive(QueueId queue, PeerMessageId peer_message, BufferId buffer,
                         const Region& region, PeerId next) = 0;
  /// Waits until a peer message that receive() asked for is there.
  /// @param give_up asked now and then, about every second: true ends the waiting, with
  /// unavailable   Errors: connection_lost if who sends it is gone; those of the device
  virtual Status await(PeerMessageId peer_message, const std::function<bool()>& give_up) = 0;

  /// Asks for a sign of life, for whoever waits for others who may be waiting for this device.
  /// Errors: those of a device that is gone
  virtual Status check() = 0;

  /// Ends what is under way, and forgets mailbox and peers: afterwards nothing is written to any
  /// buffer, and no number is taken.
  virtual Status leave() = 0;
};

}  // namespace ob
