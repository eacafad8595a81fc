#pragma once
// The part of a device that all backends in host memory share: buffers and copies.

#include <memory>

#include "device/host_memory.hpp"
#include "device/queued_device.hpp"

namespace ob {

/// Leaves routine calls and transforms to the backend that derives from it.
class HostDevice : public QueuedDevice {
 public:
  MemoryUse memory_use() const final;
  const DeviceInfo& info() const noexcept final { return info_; }

  /// Waits for submitted commands if only freed buffers that they still use stand in the way.
  Result<BufferId> allocate(std::uint64_t size_bytes) final;
  Status free(BufferId buffer) final;
  std::byte* host_view(BufferId buffer) noexcept final;
  Result<SegmentView> segment(BufferId buffer) final;

  Status write(QueueId queue, BufferId buffer, const Region& region, const Layout& source) final;
  Status read(QueueId queue, BufferId buffer, const Region& region,
              const Layout& destination) final;
  Status copy(QueueId queue, BufferId source, const Region& from, BufferId destination,
              const Region& to) override;
  Status digest(QueueId queue, BufferId buffer, const Region& region, std::uint64_t chunk_bytes,
                std::span<Digest> digests) final;

  /// See HostMemory.
  void fail_allocations(unsigned every) noexcept { memory_.fail_allocations(every); }

 protected:
  /// `info.memory_bytes` is the cap; host_visible is set here.
  explicit HostDevice(DeviceInfo info);

  HostMemory& memory() noexcept { return memory_; }

 private:
  DeviceInfo info_;
  HostMemory memory_;
};

}  // namespace ob
