#pragma once
// Devices that work on one call together, and how what one of them has gets to the others.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/exchange/device_queues.hpp"
#include "algorithms/exchange/exchange_model.hpp"
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
/// `at` are called by that rank. Copies go on beside what compute(at) does.
/// Memory:  buffers and host memory must live until finish(at), or run_ranks(), has returned
/// Source:  DAC V.B, with the panel on its owner and copies from device to device
class PanelExchange {
 public:
  PanelExchange(const PanelExchange&) = delete;
  PanelExchange& operator=(const PanelExchange&) = delete;
  virtual ~PanelExchange() = default;

  std::size_t size() const { return device_queues_.size(); }
  Device& device(std::size_t at) const { return device_queues_[at].device(); }
  QueueId compute(std::size_t at) const { return device_queues_[at].compute(); }
  const Traffic& traffic(std::size_t at) const { return traffic_[at]; }
  std::uint64_t compute_ns(std::size_t at) const { return device_queues_[at].compute_ns(); }
  virtual ExchangeModel model() const = 0;

  /// Brings an operand to the device; what compute(at) gets from now on finds it.
  virtual Status send(std::size_t at, const Layout& source, BufferId buffer, const Region& region);
  /// Brings home what compute(at) has been given so far. Returns before it is here.
  virtual Status fetch(std::size_t at, BufferId buffer, const Region& region,
                       const Layout& destination);

  /// Promises `receivers`, which get it in that order, what compute(at) has been given so far makes
  /// of the message.
  /// @pre complete() follows before the next one; the message does not change before finish()
  virtual Status post_broadcast(std::size_t at, MessageTag tag, const PanelMessage& message,
                                std::span<const std::size_t> receivers) = 0;
  /// Reads what belongs to the last promise, and waits for it.
  Status read_posted(std::size_t at, BufferId buffer, const Region& region,
                     const Layout& destination);
  /// Sees to it that the last promise is kept; may wait for the message. Between post_broadcast()
  /// and this belongs what the device is to compute meanwhile.
  virtual Status complete(std::size_t at) = 0;
  /// Waits until the message can be had, brings it into a slot once that is free; what compute(at)
  /// gets from now on finds it.
  /// @pre regions have the shapes of those offered; at is one of the receivers
  virtual Status receive(std::size_t at, MessageTag tag, const PanelMessage& message,
                         std::size_t slot) = 0;
  /// Holds what send() is told next until a slot is free.
  virtual Status wait_slot(std::size_t at, std::size_t slot) {
    return device_queues_[at].wait_slot(slot);
  }
  /// What compute(at) was given so far was the slot's last use.
  Status release(std::size_t at, std::size_t slot) { return device_queues_[at].release(slot); }

  /// Waits for all that was fetched.
  virtual Status wait_results(std::size_t at) {
    return device(at).synchronize(device_queues_[at].back()).status;
  }

  /// What a rank does now and then that waits for other ranks, which may be waiting for its device.
  /// Errors: those of a device that is gone
  virtual Status check(std::size_t /*at*/) { return {}; }

  /// Ends all waiting, of all ranks.   Threads: any
  virtual void abort(const Status& why) = 0;
  /// Waits for all that `at` has under way; what failed first.
  virtual Status finish(std::size_t at) { return device_queues_[at].finish(); }

 protected:
  explicit PanelExchange(std::vector<DeviceQueues> device_queues)
      : device_queues_(std::move(device_queues)), traffic_(device_queues_.size()) {}

  static Result<std::vector<DeviceQueues>> open_all(std::span<Device* const> devices);
  DeviceQueues& queues(std::size_t at) { return device_queues_[at]; }
  Traffic& account(std::size_t at) { return traffic_[at]; }

 private:
  std::vector<DeviceQueues> device_queues_;
  std::vector<Traffic> traffic_;
};

/// Parts of a region of at most so many bytes, or single columns, in order. @pre a full region
std::vector<Region> blocks_of(const Region& region, std::uint64_t block_bytes);

}  // namespace ob::algorithms
