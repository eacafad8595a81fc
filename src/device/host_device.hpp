#pragma once
// The part of a device that all backends in host memory share: buffers, queues, events, copies.

#include <atomic>
#include <memory>
#include <string>

#include "device/device.hpp"
#include "device/handle_table.hpp"
#include "device/host_event.hpp"
#include "device/host_memory.hpp"
#include "device/host_queue.hpp"

namespace ob {

/// Leaves routine calls and transforms to the backend that derives from it.
/// A command that is found impossible when it is submitted (out of bounds, unknown buffer) fails in
/// its turn, like one that fails while running: submitting returns an error only if the queue
/// itself does not exist. Commands that have a number: write, read, copy, digest, call, execute,
/// record, wait. record() takes effect after a failure too, so that no other queue waits for ever.
class HostDevice : public Device {
 public:
  MemoryUse memory_use() const final;
  const DeviceInfo& info() const noexcept final { return info_; }

  Result<QueueId> create_queue(const Account& account = {}) final;
  Status destroy_queue(QueueId queue) final;

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

  Result<EventId> create_event() final;
  Status destroy_event(EventId event) final;
  Status record(QueueId queue, EventId event) final;
  Status wait(QueueId queue, EventId event) final;

  QueueReport synchronize(QueueId queue) final;
  /// See HostMemory.
  void fail_allocations(unsigned every) noexcept { memory_.fail_allocations(every); }
  Status on_reached(QueueId queue, bool clear, std::function<void(const QueueReport&)> done) final;

 protected:
  /// `info.memory_bytes` is the cap; host_visible is set here.
  explicit HostDevice(DeviceInfo info);

  /// Runs all that was submitted and ends the queues' threads. The destructor of a derived class
  /// calls it first: commands use that class's members.
  void finish_queues();

  HostMemory& memory() noexcept { return memory_; }
  /// nullptr if unknown.
  std::shared_ptr<HostQueue> find_queue(QueueId id) const { return queues_.find(id); }
  /// What every submitting function returns for an unknown queue.
  static Status no_such_queue(QueueId id);

 private:
  DeviceInfo info_;
  HostMemory memory_;
  HandleTable<EventId, HostEvent> events_;
  HandleTable<QueueId, HostQueue> queues_;
  std::atomic<unsigned> queues_made_{0};
};

}  // namespace ob
