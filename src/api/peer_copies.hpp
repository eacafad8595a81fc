#pragma once
// The part of an open device that takes part in copies from device to device.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "client/shared_device.hpp"
#include "device/peering.hpp"

namespace ob::api {

/// The mailbox of a device, and the links of its queues to other devices.
/// Threads: any
class PeerCopies {
 public:
  /// @param device nullptr for a device of this process, which has neither
  explicit PeerCopies(client::SharedDevice* device) : device_(device) {}

  /// Opens the mailbox for the program.   Errors: unsupported; invalid_argument if it is open
  Result<Mailbox> open();
  /// Closes it: receives that wait for messages fail.
  Status close();
  /// Closes the mailbox, for the end of the device.
  void end();

  /// Returns the mailbox for a copy within this process, after a loss a new one.
  Result<Mailbox> for_copies();
  /// Returns the link of a queue to a mailbox. A link of its own keeps the copies of one queue from
  /// waiting for those of another.
  /// Errors: those of SharedDevice::connect(); a daemon that cannot be reached is asked once
  Result<PeerId> link(QueueId queue, const Mailbox& to);
  /// Ends the links of a queue.
  void forget(QueueId queue);

  /// Returns the number of a copy; the program's messages have smaller ones.
  static PeerMessageId next_number() noexcept;

 private:
  struct Link {
    QueueId queue;
    Mailbox to;
    Result<PeerId> peer;
  };

  client::SharedDevice* const device_;
  std::mutex mutex_;
  bool programs_ = false;  // the program has opened the mailbox
  std::optional<Mailbox> mailbox_;
  std::vector<Link> links_;
};

}  // namespace ob::api
