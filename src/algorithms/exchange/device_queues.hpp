#pragma once
// A device of an exchange, with its queues.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "device/device.hpp"

namespace ob::algorithms {

/// One queue each for commands that compute, receive, send to other devices, and return results, so
/// that all four overlap. Events order the queues where one needs another.
/// Threads: owner only; of a remote device, the only thread that uses it
class DeviceQueues {
 public:
  static Result<DeviceQueues> open(Device& device);
  DeviceQueues(DeviceQueues&& other) noexcept;
  DeviceQueues& operator=(DeviceQueues&&) = delete;
  ~DeviceQueues();

  Device& device() const { return *device_; }
  QueueId compute() const { return compute_; }
  QueueId in() const { return in_; }      ///< operands and panels of other devices
  QueueId out() const { return out_; }    ///< panels for other devices
  QueueId back() const { return back_; }  ///< results

  /// Delays further commands of `later` until the present commands of `earlier` are done.
  Status order(QueueId earlier, QueueId later);

  /// The present commands of compute() are the last that use the slot.
  Status release(std::size_t slot);
  /// Delays further commands of in() until the slot is free.
  Status wait_slot(std::size_t slot);

  /// Waits for all queues.   Errors: the first failure
  Status finish();
  /// The computing time of calls, as of the last finish().
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
