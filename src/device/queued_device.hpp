#pragma once
// The common part of all devices of this process: queues, events, and the checks of copies.

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "base/chunks.hpp"
#include "device/device.hpp"
#include "device/handle_table.hpp"
#include "device/host_event.hpp"
#include "device/host_queue.hpp"
#include "device/kernels/kernel_modules.hpp"
#include "device/memory_table.hpp"

namespace ob {

/// Derived classes add memory, copies, calls and transforms.
/// A command that is found impossible when it is submitted (out of bounds, unknown buffer) fails in
/// its turn, like one that fails while it runs. To submit returns an error only if the queue does
/// not exist. These commands have a number: write, read, copy, fill, digest, call, execute, launch,
/// record, wait, hold. record() takes effect even after a failure, so that no other queue waits for
/// ever.
class QueuedDevice : public Device {
 public:
  Result<QueueId> create_queue(const Account& account = {}) final;
  Status destroy_queue(QueueId queue) final;
  Status abandon(QueueId queue) final;

  Result<EventId> create_event() final;
  Status destroy_event(EventId event) final;
  Status record(QueueId queue, EventId event) final;
  Status wait(QueueId queue, EventId event) final;
  Status hold(QueueId queue, std::shared_ptr<const Gate> gate) final;

  Status write(QueueId queue, BufferId buffer, const Region& region, const Layout& source) final;
  Status read(QueueId queue, BufferId buffer, const Region& region,
              const Layout& destination) final;
  Status copy(QueueId queue, BufferId source, const Region& from, BufferId destination,
              const Region& to) final;
  Status fill(QueueId queue, BufferId buffer, const Region& region,
              std::span<const std::byte> element) final;
  Status digest(QueueId queue, BufferId buffer, const Region& region, std::uint64_t chunk_bytes,
                std::span<Digest> digests) final;

  Status runs_kernels() final;
  std::uint32_t kernel_kinds() final;
  Result<ModuleId> load_module(ModuleSource source, std::function<void(const ModuleReport&)> built,
                               const Account& account = {}) final;
  Status unload_module(ModuleId module) final;
  Status launch(QueueId queue, const KernelLaunch& launch) final;

  QueueReport synchronize(QueueId queue) final;
  Status on_reached(QueueId queue, bool clear, std::function<void(const QueueReport&)> done) final;

 protected:
  enum class Way { to_device, to_host, inside };
  /// A checked copy.   Memory: keeps its buffers alive
  struct CheckedCopy {
    Way way;
    Layout to;
    Layout from;
    std::array<std::shared_ptr<const void>, 2> buffers;
  };
  /// A checked fill of at least one element.   Memory: keeps its buffer alive
  struct CheckedFill {
    HeldMemory buffer;
    Region region;
    std::array<std::byte, 16> element;  ///< region.element_bytes of them
  };
  /// A checked digest.   Memory: keeps its buffer alive
  struct CheckedDigest {
    HeldMemory buffer;
    std::uint64_t total_bytes;
    Chunks chunks;
    std::span<Digest> digests;
  };

  /// Returns the table of the device's buffers.
  virtual const MemoryTable& buffers() const noexcept = 0;
  /// Submits a checked command to its queue, which make_queue() has made.
  virtual void submit_copy(HostQueue& queue, CheckedCopy copy) = 0;
  virtual void submit_fill(HostQueue& queue, CheckedFill fill) = 0;
  virtual void submit_digest(HostQueue& queue, CheckedDigest digest) = 0;
  virtual void submit_launch(HostQueue& queue, std::unique_ptr<PendingLaunch> launch);

  /// Makes a queue of the device's own kind.   @param name that of its thread
  virtual Result<std::shared_ptr<HostQueue>> make_queue(const std::string& name,
                                                        const Account& account);
  /// Lets the device run kernels. A derived class then implements submit_launch().
  /// Threads: before others
  void use_kernels(std::shared_ptr<const KernelRunner> runner);
  /// See KernelRunner::process_deaths().
  std::uint64_t kernel_process_deaths() const noexcept {
    return modules_ == nullptr ? 0 : modules_->process_deaths();
  }
  /// Runs all submitted commands, ends the queues' threads, and unloads all modules. The destructor
  /// of a derived class calls it first, because commands use that class's members.
  void finish_queues();

  /// Finds a queue; nullptr if unknown.
  std::shared_ptr<HostQueue> find_queue(QueueId id) const { return queues_.find(id); }
  /// Returns the error for an unknown queue.
  static Status no_such_queue(QueueId id);
  static Status no_such_plan(PlanId id);

 private:
  HandleTable<EventId, HostEvent> events_;
  HandleTable<QueueId, HostQueue> queues_;
  std::unique_ptr<KernelModules> modules_;  // nullptr: the device runs no kernels
  std::atomic<unsigned> queues_made_{0};
};

}  // namespace ob
