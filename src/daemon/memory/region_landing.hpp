#pragma once
// Brings arriving elements to a region of a device's buffer.

#include <functional>
#include <memory>

#include "base/layout.hpp"
#include "base/status.hpp"
#include "daemon/memory/device_buffer.hpp"
#include "daemon/memory/resource_account.hpp"
#include "daemon/memory/staged_writer.hpp"
#include "device/device.hpp"

namespace ob::daemon {

/// Fetches the next bytes of arriving elements to their place, as many as fit.
using FetchNext = std::function<Status(const Layout& room)>;

/// Memory that the host sees is filled in place. For other memory, the regions share one queue of
/// the device and one piece of host memory.
/// Threads: owner only
class RegionLanding {
 public:
  RegionLanding(Device& device, std::shared_ptr<ResourceAccount> host_memory)
      : device_(device), host_memory_(std::move(host_memory)) {}
  ~RegionLanding();
  RegionLanding(const RegionLanding&) = delete;
  RegionLanding& operator=(const RegionLanding&) = delete;

  /// Calls `fetch` for one piece of the region after another. Returns when the device has all.
  /// Errors: those of fetch and of the device; out_of_memory, of the account
  Status land(const DeviceBuffer& buffer, const Region& region, const FetchNext& fetch);

 private:
  Status land_staged(const DeviceBuffer& buffer, const Region& region, const FetchNext& fetch);
  Status open_queue();

  Device& device_;
  const std::shared_ptr<ResourceAccount> host_memory_;
  QueueId queue_;                         // both: for memory that the host cannot see
  std::unique_ptr<StagedWriter> writer_;  // outlives the queue
};

}  // namespace ob::daemon
