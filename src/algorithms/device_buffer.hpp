#pragma once
// A device buffer for the duration of a call, and the handling of a queue after a failure.

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "device/device.hpp"

namespace ob::algorithms {

/// Devices round the sizes of buffers up to at most this unit.   Units: bytes
inline constexpr std::uint64_t kAllocationUnitBytes = 4096;

/// Owns one device buffer and frees it.   Threads: owner only
class DeviceBuffer {
 public:
  explicit DeviceBuffer(Device& device) : device_(device) {}
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() {
    if (!id_) return;
    try {
      (void)device_.free(id_);
    } catch (...) {  // no memory for the request: closing the connection frees it
    }
  }
  Status allocate(std::uint64_t size_bytes) {
    OB_ASSIGN_OR_RETURN(id_, device_.allocate(std::max<std::uint64_t>(size_bytes, 8)));
    return {};
  }
  BufferId id() const { return id_; }

 private:
  Device& device_;
  BufferId id_;
};

/// The error for operands of `needed_bytes`, which is more than the device has.
inline Status no_room(const Device& device, std::uint64_t needed_bytes) {
  return {Code::out_of_memory, "operands of " + std::to_string(needed_bytes) +
                                   " bytes do not fit on the device (it has " +
                                   std::to_string(device.info().memory_bytes) + ")"};
}

/// The region of the first size_bytes of a buffer, as real numbers of that precision or as the
/// parts of complex ones.
/// @pre size_bytes is a multiple of real_bytes(precision)
inline Region line(std::uint64_t size_bytes, Precision precision) {
  const std::uint32_t word_bytes = real_bytes(precision);
  const std::uint64_t words = size_bytes / word_bytes;
  return {0, word_bytes, Triangle::full, words, 1, words, static_cast<std::uint8_t>(word_bytes)};
}

/// Waits for all pending commands after a failure. Afterwards no read writes to host memory, and
/// the next call finds an empty queue. If the device is lost, this returns at once. Returns the
/// error that happened first.
inline Status settle(Device& device, QueueId queue, const Status& failure) {
  const QueueReport report = device.synchronize(queue);
  const bool lost = failure.code() == Code::connection_lost ||
                    failure.code() == Code::protocol_error ||
                    failure.code() == Code::deadline_exceeded;
  // unless the device is lost, its own error happened before `failure`
  return lost || report.status.ok() ? failure : report.status;
}

}  // namespace ob::algorithms
