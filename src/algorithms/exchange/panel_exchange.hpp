#pragma once
// Devices that work on one call together, and the exchange of panels between them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/exchange/device_queues.hpp"
#include "algorithms/exchange/exchange_model.hpp"
#include "algorithms/index.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "device/device.hpp"

namespace ob::algorithms {

/// Parts of one buffer that travel together.
struct PanelMessage {
  BufferId buffer;
  std::vector<Region> regions;
};

/// The number of a broadcast. An exchange uses each number once.
using MessageTag = std::uint64_t;

/// The traffic over the links of one device.   Units: bytes
struct Traffic {
  std::uint64_t sent = 0;      ///< operands, by this process
  std::uint64_t fetched = 0;   ///< results, by this process
  std::uint64_t received = 0;  ///< panels of other devices
};

/// Devices that exchange panels. Each device has one thread, its rank, and only this thread submits
/// to the device. Functions with a `rank` are called by that thread. Copies overlap with the
/// commands on compute(rank).
/// Memory:  buffers and host memory must live until finish(rank), or run_ranks(), has returned
/// Source:  DAC V.B, with the panel on its owner and copies from device to device
class PanelExchange {
 public:
  PanelExchange(const PanelExchange&) = delete;
  PanelExchange& operator=(const PanelExchange&) = delete;
  virtual ~PanelExchange() = default;

  std::size_t size() const { return device_queues_.size(); }
  Device& device(Rank rank) const { return device_queues_[rank.value()].device(); }
  QueueId compute(Rank rank) const { return device_queues_[rank.value()].compute(); }
  const Traffic& traffic(Rank rank) const { return traffic_[rank.value()]; }
  std::uint64_t compute_ns(Rank rank) const { return device_queues_[rank.value()].compute_ns(); }
  virtual ExchangeModel model() const = 0;

  /// Sends an operand to the device. Later commands on compute(rank) find it there.
  virtual Status send(Rank rank, const Layout& source, BufferId buffer, const Region& region);
  /// Fetches a result to the host, once the commands that compute(rank) has so far are done.
  /// Returns before the result has arrived; wait_results() and finish() wait for it.
  virtual Status fetch(Rank rank, BufferId buffer, const Region& region, const Layout& destination);

  /// Posts a broadcast of a message to `receivers`, in that order, once the commands that
  /// compute(rank) has so far are done.
  /// @pre complete() is called before the next post_broadcast(); the message does not change before
  ///      finish()
  virtual Status post_broadcast(Rank rank, MessageTag tag, const PanelMessage& message,
                                std::span<const Rank> receivers) = 0;
  /// Reads a region that is ready when the posted message is, and waits for it.
  Status read_posted(Rank rank, BufferId buffer, const Region& region, const Layout& destination);
  /// Completes the posted broadcast; may wait for the message. Commands that overlap with the
  /// broadcast are submitted between post_broadcast() and this.
  virtual Status complete(Rank rank) = 0;
  /// Waits until the message is posted, and receives it into a slot once the slot is free. Later
  /// commands on compute(rank) find it there.
  /// @pre the regions have the shapes of those posted; rank is one of the receivers
  virtual Status receive(Rank rank, MessageTag tag, const PanelMessage& message,
                         std::size_t slot) = 0;
  /// Delays the next send() to the device until the slot is free.
  virtual Status wait_slot(Rank rank, std::size_t slot) {
    return device_queues_[rank.value()].wait_slot(slot);
  }
  /// Frees the slot once the commands that compute(rank) has so far are done.
  Status release(Rank rank, std::size_t slot) { return device_queues_[rank.value()].release(slot); }

  /// Waits for all results that were fetched.
  virtual Status wait_results(Rank rank) {
    return device(rank).synchronize(device_queues_[rank.value()].back()).status;
  }

  /// Checks the device. A rank calls it about once a second while it waits for other ranks, which
  /// may be waiting for this device.
  /// Errors: those of a lost device
  virtual Status check(Rank /*rank*/) { return {}; }

  /// Ends the waiting of all ranks.   Threads: any
  virtual void abort(const Status& why) = 0;
  /// Waits for all commands of the rank.   Errors: the first failure
  virtual Status finish(Rank rank) { return device_queues_[rank.value()].finish(); }

 protected:
  explicit PanelExchange(std::vector<DeviceQueues> device_queues)
      : device_queues_(std::move(device_queues)), traffic_(device_queues_.size()) {}

  static Result<std::vector<DeviceQueues>> open_all(std::span<Device* const> devices);
  DeviceQueues& queues(Rank rank) { return device_queues_[rank.value()]; }
  Traffic& account(Rank rank) { return traffic_[rank.value()]; }

 private:
  std::vector<DeviceQueues> device_queues_;
  std::vector<Traffic> traffic_;
};

/// Cuts a region into blocks of whole columns, in order: each has at most block_bytes bytes, or one
/// column.
/// @pre region.triangle == Triangle::full
std::vector<Region> blocks_of(const Region& region, std::uint64_t block_bytes);

}  // namespace ob::algorithms
