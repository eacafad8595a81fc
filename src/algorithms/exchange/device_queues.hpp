#pragma once
// A device of a exchange with its queues.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "device/device.hpp"

namespace ob::algorithms {

/// What one device computes, receives, hands on and returns goes on at the same time, on a queue
/// each; events order them where they meet.
/// Threads: owner only (of a remote device: the only one that uses it)
class DeviceQueues {
 public:
  static Result<DeviceQueues> open(Device& device);
  DeviceQueues(DeviceQueues&& other) noexcept;
  DeviceQueues& operator=(DeviceQueues&&) = delete;
  ~DeviceQueues();

  Device& device() const { return *device_; }
  QueueId compute() const { return compute_; }
  QueueId in() const { return in_; }      ///< what comes from elsewhere
  QueueId out() const { return out_; }    ///< what goes to other devices
  QueueId back() const { return back_; }  ///< results

  /// Holds `later` until what was submitted to `earlier` so far is done.
  Status order(QueueId earlier, QueueId later);

  /// Remembers what was submitted to compute() so far as the last use of a slot.
  Status release(std::size_t slot);
  /// Holds in() until the slot's last use is done.
  Status wait_slot(std::size_t slot);

  /// Waits for all queues; what failed first.
  Status finish();
  /// Of calls, as far as finish() has heard of them.
  std::uint64_t compute_ns() const { return compute_ns_; }

 private:
  explicit DeviceQueues(Device& device) : device_(&device) {}

  Device* device_;  // nullptr: moved from
  QueueId compute_;
  QueueId in_;
  QueueId out_;
  QueueId back_;
  EventId order_;
  std::uint64_t compute_ns_ = 0;
  std::vector<EventId> slots_;  // empty id: never used
};

}  // namespace ob::algorithms
