#pragma once
// The common part of devices in host memory: buffers and copies.

#include <memory>

#include "device/host_memory.hpp"
#include "device/queued_device.hpp"

namespace ob {

/// A backend derives from this class and adds routine calls and transforms.
class HostDevice : public QueuedDevice {
 public:
  MemoryUse memory_use() const final;
  const DeviceInfo& info() const noexcept final { return info_; }

  /// Waits for submitted commands if the buffers that they still use, though freed, leave too
  /// little memory.
  Result<BufferId> allocate(std::uint64_t size_bytes, const Account& owner = {}) final;
  bool await_room(std::uint64_t size_bytes, std::chrono::milliseconds longest) final;
  Status free(BufferId buffer) final;
  std::byte* host_view(BufferId buffer) noexcept final;
  Result<SegmentView> segment(BufferId buffer) final;

  /// See HostMemory.
  void limit_segments(std::uint64_t most) { memory_.limit_segments(most); }
  void fail_allocations(unsigned every) noexcept { memory_.fail_allocations(every); }

 protected:
  /// `info.memory_bytes` is the cap; host_visible is set here.
  explicit HostDevice(DeviceInfo info);

  HostMemory& memory() noexcept { return memory_; }
  const MemoryTable& buffers() const noexcept final { return memory_; }
  void submit_copy(HostQueue& queue, CheckedCopy copy) override;
  void submit_fill(HostQueue& queue, CheckedFill fill) final;
  void submit_digest(HostQueue& queue, CheckedDigest digest) final;

 private:
  DeviceInfo info_;
  HostMemory memory_;
};

}  // namespace ob
