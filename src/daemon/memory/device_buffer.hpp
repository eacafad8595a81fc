#pragma once
// Memory of a device with several holders.

#include <cstdint>
#include <memory>
#include <utility>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "daemon/memory/resource_account.hpp"
#include "device/device.hpp"

namespace ob::daemon {

/// Frees the device memory when the last holder releases it. Holders are the session, pending
/// answers, and arriving payloads.
class DeviceBuffer {
 public:
  /// Errors: out_of_memory, of the account or the device
  static Result<std::shared_ptr<DeviceBuffer>> allocate(
      Device& device, const Account& owner, const std::shared_ptr<ResourceAccount>& account,
      std::uint64_t size_bytes);
  ~DeviceBuffer() { (void)device_.free(local); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  /// The part of the account, for holders of commands that still use the memory.
  const std::shared_ptr<const Reservation>& reservation() const noexcept { return memory_; }

  const BufferId local;  ///< the device's id, which never leaves the daemon

 private:
  DeviceBuffer(Device& device, BufferId id, Reservation memory)
      : local(id),
        memory_(std::make_shared<const Reservation>(std::move(memory))),
        device_(device) {}

  const std::shared_ptr<const Reservation> memory_;  // released after the buffer is freed
  Device& device_;
};

}  // namespace ob::daemon
