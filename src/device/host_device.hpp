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

  /// See HostMemory.
  void fail_allocations(unsigned every) noexcept { memory_.fail_allocations(every); }

 protected:
  /// `info.memory_bytes` is the cap; host_visible is set here.
  explicit HostDevice(DeviceInfo info);

  HostMemory& memory() noexcept { return memory_; }
  const MemoryTable& buffers() const noexcept final { return memory_; }
  void submit_copy(HostQueue& queue, CheckedCopy copy) override;
  void submit_digest(HostQueue& queue, CheckedDigest digest) final;

 private:
  DeviceInfo info_;
  HostMemory memory_;
};

}  // namespace ob
