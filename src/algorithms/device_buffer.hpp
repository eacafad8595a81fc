#pragma once
// A device buffer for the duration of a call, and what is done with a queue after a failure.

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "device/device.hpp"

namespace ob::algorithms {

/// Frees what it allocated.   Threads: owner only
class DeviceBuffer {
 public:
  explicit DeviceBuffer(Device& device) : device_(device) {}
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() {
    if (!id_) return;
    try {
      (void)device_.free(id_);
    } catch (...) {  // no memory to keep it by: it goes with the connection
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

/// That operands of so many bytes are more than the device has.
inline Status no_room(const Device& device, std::uint64_t needed_bytes) {
  return {Code::out_of_memory, "operands of " + std::to_string(needed_bytes) +
                                   " bytes do not fit on the device (it has " +
                                   std::to_string(device.info().memory_bytes) + ")"};
}

/// The first size_bytes of a buffer: real numbers of that precision, or parts of complex ones.
/// @pre size_bytes is a multiple of real_bytes(precision)
inline Region line(std::uint64_t size_bytes, Precision precision) {
  const std::uint32_t word_bytes = real_bytes(precision);
  const std::uint64_t words = size_bytes / word_bytes;
  return {0, word_bytes, Triangle::full, words, 1, words, static_cast<std::uint8_t>(word_bytes)};
}

/// After a failure: nothing may land in the caller's memory or ours any more, and the next call
/// finds a clean queue. A device that is lost for good says so at once. Returns what came first.
inline Status settle(Device& device, QueueId queue, const Status& failure) {
  const QueueReport report = device.synchronize(queue);
  const bool lost = failure.code() == Code::connection_lost ||
                    failure.code() == Code::protocol_error ||
                    failure.code() == Code::deadline_exceeded;
  // else what the device says came first
  return lost || report.status.ok() ? failure : report.status;
}

}  // namespace ob::algorithms
