#pragma once
// The part of a device that all backends whose queues the processor runs share: queues, events, and
// the checks of copies.

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "base/chunks.hpp"
#include "device/device.hpp"
#include "device/handle_table.hpp"
#include "device/host_event.hpp"
#include "device/host_queue.hpp"
#include "device/memory_table.hpp"

namespace ob {

/// Leaves memory, calls and transforms to who derives from it, and how to copy.
/// A command that is found impossible when it is submitted (out of bounds, unknown buffer) fails in
/// its turn, like one that fails while running: submitting returns an error only if the queue
/// itself does not exist. Commands that have a number: write, read, copy, digest, call, execute,
/// record, wait. record() takes effect after a failure too, so that no other queue waits for ever.
class QueuedDevice : public Device {
 public:
  Result<QueueId> create_queue(const Account& account = {}) final;
  Status destroy_queue(QueueId queue) final;

  Result<EventId> create_event() final;
  Status destroy_event(EventId event) final;
  Status record(QueueId queue, EventId event) final;
  Status wait(QueueId queue, EventId event) final;

  Status write(QueueId queue, BufferId buffer, const Region& region, const Layout& source) final;
  Status read(QueueId queue, BufferId buffer, const Region& region,
              const Layout& destination) final;
  Status copy(QueueId queue, BufferId source, const Region& from, BufferId destination,
              const Region& to) final;
  Status digest(QueueId queue, BufferId buffer, const Region& region, std::uint64_t chunk_bytes,
                std::span<Digest> digests) final;

  QueueReport synchronize(QueueId queue) final;
  Status on_reached(QueueId queue, bool clear, std::function<void(const QueueReport&)> done) final;

 protected:
  enum class Way { to_device, to_host, inside };
  /// A copy that was checked.   Memory: keeps its buffers alive
  struct CheckedCopy {
    Way way;
    Layout to;
    Layout from;
    std::array<std::shared_ptr<const void>, 2> buffers;
  };
  /// The same of a digest.
  struct CheckedDigest {
    HeldMemory buffer;
    std::uint64_t total_bytes;
    Chunks chunks;
    std::span<Digest> digests;
  };

  /// Where commands find their buffers.
  virtual const MemoryTable& buffers() const noexcept = 0;
  /// Hands what is left of a command to its queue, which is of make_queue().
  virtual void submit_copy(HostQueue& queue, CheckedCopy copy) = 0;
  virtual void submit_digest(HostQueue& queue, CheckedDigest digest) = 0;

  /// A queue of the device's own kind. @param name of its thread
  virtual Result<std::shared_ptr<HostQueue>> make_queue(const std::string& name,
                                                        const Account& account);
  /// Runs all that was submitted and ends the queues' threads. The destructor of a derived class
  /// calls it first: commands use that class's members.
  void finish_queues();

  /// nullptr if unknown.
  std::shared_ptr<HostQueue> find_queue(QueueId id) const { return queues_.find(id); }
  /// What every submitting function returns for an unknown queue.
  static Status no_such_queue(QueueId id);
  static Status no_such_plan(PlanId id);

 private:
  HandleTable<EventId, HostEvent> events_;
  HandleTable<QueueId, HostQueue> queues_;
  std::atomic<unsigned> queues_made_{0};
};

}  // namespace ob
