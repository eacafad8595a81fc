#pragma once
// Reads payloads from a device whose memory the host cannot see.

#include <cstdint>
#include <functional>
#include <memory>

#include "base/ids.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "daemon/memory/device_buffer.hpp"
#include "daemon/memory/region_pieces.hpp"
#include "device/device.hpp"

namespace ob::daemon {

/// Reads the elements of a region through two blocks of host memory. The device's queue for reads
/// does nothing else; the queue whose turn it is waits meanwhile.
/// Threads: one at a time
class StagedReader {
 public:
  static constexpr std::uint64_t kBlockBytes = kStagingBlockBytes;
  /// The host memory of a reader while it runs.
  static constexpr std::uint64_t kHostBytes = 2 * kBlockBytes;

  StagedReader(Device& device, QueueId transfers, std::shared_ptr<DeviceBuffer> buffer,
               const Region& region)
      : device_(device), transfers_(transfers), buffer_(std::move(buffer)), region_(region) {}

  std::uint64_t total_bytes() const noexcept { return packed_bytes(region_); }

  /// Calls `first` when the first elements have arrived. Then calls `take` with the elements in
  /// packed order while the next ones are in transfer. If the first elements cannot be read, calls
  /// only `first`, with the failure.
  Status run(const std::function<Status(const Status&)>& first,
             const std::function<Status(const Layout&)>& take);

 private:
  class Run;

  Device& device_;
  const QueueId transfers_;
  const std::shared_ptr<DeviceBuffer> buffer_;
  const Region region_;
};

}  // namespace ob::daemon
