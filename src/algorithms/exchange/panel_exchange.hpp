#pragma once
// Devices that work on one call together, and how what one of them has gets to the others.

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

/// What travels together: parts of one buffer.
struct PanelMessage {
  BufferId buffer;
  std::vector<Region> regions;
};

/// Names a message that goes round: each number once in the life of a exchange.
using MessageTag = std::uint64_t;

/// What went over the links of one device.   Units: bytes
struct Traffic {
  std::uint64_t sent = 0;      ///< from this process, operands
  std::uint64_t fetched = 0;   ///< to this process, results
  std::uint64_t received = 0;  ///< messages of other devices
};

/// Every device has one thread, its rank, which alone submits to it; the functions that have an
/// `rank` are called by that rank. Copies go on beside what compute(rank) does.
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

  /// Brings an operand to the device; what compute(rank) gets from now on finds it.
  virtual Status send(Rank rank, const Layout& source, BufferId buffer, const Region& region);
  /// Brings home what compute(rank) has been given so far. Returns before it is here.
  virtual Status fetch(Rank rank, BufferId buffer, const Region& region, const Layout& destination);

  /// Promises `receivers`, which get it in that order, what compute(rank) has been given so far
  /// makes of the message.
  /// @pre complete() follows before the next one; the message does not change before finish()
  virtual Status post_broadcast(Rank rank, MessageTag tag, const PanelMessage& message,
                                std::span<const Rank> receivers) = 0;
  /// Reads what belongs to the last promise, and waits for it.
  Status read_posted(Rank rank, BufferId buffer, const Region& region, const Layout& destination);
  /// Sees to it that the last promise is kept; may wait for the message. Between post_broadcast()
  /// and this belongs what the device is to compute meanwhile.
  virtual Status complete(Rank rank) = 0;
  /// Waits until the message can be had, brings it into a slot once that is free; what
  /// compute(rank) gets from now on finds it.
  /// @pre regions have the shapes of those offered; at is one of the receivers
  virtual Status receive(Rank rank, MessageTag tag, const PanelMessage& message,
                         std::size_t slot) = 0;
  /// Holds what send() is told next until a slot is free.
  virtual Status wait_slot(Rank rank, std::size_t slot) {
    return device_queues_[rank.value()].wait_slot(slot);
  }
  /// What compute(rank) was given so far was the slot's last use.
  Status release(Rank rank, std::size_t slot) { return device_queues_[rank.value()].release(slot); }

  /// Waits for all that was fetched.
  virtual Status wait_results(Rank rank) {
    return device(rank).synchronize(device_queues_[rank.value()].back()).status;
  }

  /// What a rank does now and then that waits for other ranks, which may be waiting for its device.
  /// Errors: those of a device that is gone
  virtual Status check(Rank /*rank*/) { return {}; }

  /// Ends all waiting, of all ranks.   Threads: any
  virtual void abort(const Status& why) = 0;
  /// Waits for all that `rank` has under way; what failed first.
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

/// Parts of a region of at most so many bytes, or single columns, in order. @pre a full region
std::vector<Region> blocks_of(const Region& region, std::uint64_t block_bytes);

}  // namespace ob::algorithms
