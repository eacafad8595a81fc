#pragma once
// A device: an ordered-queue machine. Implemented where the silicon is (backend/) and over the wire
// (client/remote_device); algorithms are written once, against this.
//
// Commands on one queue happen in order; queues are independent but for events. Submitting never
// waits for the work itself. Errors of submitted work stick to their queue: later commands of that
// queue are skipped until synchronize() reports the first error and clears it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/accuracy.hpp"
#include "base/digest.hpp"
#include "base/ids.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "device/account.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"
#include "routines/fft.hpp"

namespace ob {

struct DeviceInfo {
  std::string backend;      ///< "cpu", "null", ...
  std::string description;  ///< for people: library, threads, core type
  std::uint64_t memory_bytes = 0;
  bool host_visible = false;    ///< host_view() works
  double gflops_double = 0;     ///< measured dgemm rate [GFLOP/s]; 0 if unknown
  std::uint8_t accuracies = 0;  ///< bit i: mode i of Accuracy makes a difference here
};

/// Memory of a device in this process. Units: bytes, counts since its creation
struct MemoryUse {
  std::uint64_t used_bytes = 0;
  std::uint64_t idle_bytes = 0;   ///< kept for the next allocations
  std::uint64_t allocations = 0;  ///< of sizes that are kept
  std::uint64_t reused = 0;       ///< of those, how many found idle memory
};

/// A place inside a buffer.
struct BufferRef {
  BufferId buffer;
  std::uint64_t offset_bytes = 0;
};

/// Where a buffer lies in a memory file that another process may map.
struct SegmentView {
  int fd = -1;  ///< owned by the device, valid while the buffer lives
  std::uint64_t offset_bytes = 0;
  std::uint64_t segment_bytes = 0;
};

/// What a queue did since the last synchronize.
struct QueueReport {
  Status status;
  /// 1-based count of the failed command on this queue since its creation
  std::uint64_t failed_command = 0;
  std::uint64_t compute_ns = 0;  ///< calls and plan executions
  std::uint64_t plan_ns = 0;     ///< waiting for plans that were not ready in time
  std::uint64_t waited_ns = 0;   ///< calls and plan executions waiting for their turn to compute
};

class Peering;

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const noexcept = 0;
  /// Zeros if the device does not say.
  virtual MemoryUse memory_use() const { return {}; }

  /// Threads: any, as all of this interface; one queue is used by one thread at a time.
  /// @param account whose part the queue has of a device that others want, too
  virtual Result<QueueId> create_queue(const Account& account = {}) = 0;
  /// Waits for the queue's commands first.
  virtual Status destroy_queue(QueueId queue) = 0;

  /// How exact the calls and executions that are submitted from now on are to be; standard at
  /// first. Where a mode makes no difference it does what standard says.
  virtual Status set_accuracy(QueueId /*queue*/, Accuracy /*accuracy*/) { return {}; }

  /// Uninitialised memory, aligned to 64 bytes at least. Errors: out_of_memory.
  virtual Result<BufferId> allocate(std::uint64_t size_bytes) = 0;
  /// Commands already submitted may still use the buffer; the memory goes when they are done.
  virtual Status free(BufferId buffer) = 0;
  /// The buffer's memory, if this process can touch it (info().host_visible); else nullptr.
  /// Touch it only when no submitted command may still use it.
  virtual std::byte* host_view(BufferId buffer) noexcept = 0;
  /// Errors: unsupported if buffers do not lie in memory files.
  virtual Result<SegmentView> segment(BufferId buffer) = 0;

  /// Host memory from and to which write() and read() copy as fast as they can, for elements that
  /// only pass through.   Memory: uninitialised, aligned to 64 bytes; goes before the device
  /// Errors: out_of_memory
  virtual Result<std::shared_ptr<std::byte>> staging(std::uint64_t size_bytes);

  /// Copies `source`'s packed elements to `region`. Memory: source stays unchanged until the queue
  /// has passed.
  virtual Status write(QueueId queue, BufferId buffer, const Region& region,
                       const Layout& source) = 0;
  /// Copies `region`'s elements to `destination`. Memory: valid once the queue has passed;
  /// undefined on failure.
  virtual Status read(QueueId queue, BufferId buffer, const Region& region,
                      const Layout& destination) = 0;
  /// Copies between buffers of this device. @pre equal packed bytes, no overlap
  virtual Status copy(QueueId queue, BufferId source, const Region& from, BufferId destination,
                      const Region& to) = 0;

  /// Copies to and from other devices, if they need not pass through this process; else nullptr.
  virtual Peering* peering() noexcept { return nullptr; }

  /// Takes the digests of `region`, one for each of Chunks(region, chunk_bytes).
  /// Memory: valid once the queue has passed; undefined on failure. The work starts without
  /// waiting for synchronize().
  /// Errors: unsupported if the device cannot   @pre digests.size() is the number of chunks
  virtual Status digest(QueueId queue, BufferId buffer, const Region& region,
                        std::uint64_t chunk_bytes, std::span<Digest> digests) = 0;

  /// Runs a BLAS or LAPACK routine; memory operands are Argument::device.
  /// Errors: invalid_argument if illegal or out of a buffer's bounds; unsupported if the backend
  /// lacks it; busy if it would hold others up for too long.
  virtual Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) = 0;

  /// Plans ahead of data; may take long. Ordered before executions that name the plan, on any
  /// queue.
  virtual Result<PlanId> make_plan(const FftPlan& plan) = 0;
  virtual Status destroy_plan(PlanId plan) = 0;
  /// About what such a plan takes of the host's memory beside the device's, at most [bytes]; 0 if
  /// it cannot be made.
  virtual std::uint64_t plan_host_bytes(const FftPlan& /*plan*/) const { return 0; }
  /// Transforms packed input to packed output. Errors: busy, as call()
  /// @pre input and output are equal or do not overlap, as planned
  virtual Status execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) = 0;

  virtual Result<EventId> create_event() = 0;
  virtual Status destroy_event(EventId event) = 0;
  /// Marks the event done when the queue gets here.
  virtual Status record(QueueId queue, EventId event) = 0;
  /// Holds the queue until the last record() submitted so far is done; nothing if there is none.
  virtual Status wait(QueueId queue, EventId event) = 0;

  /// Waits for the queue, reports what happened since the last synchronize, clears the error.
  virtual QueueReport synchronize(QueueId queue) = 0;
  /// Calls `done` once the queue gets here, on a thread of the device or, if the queue is idle, at
  /// once on this one. The report is that of synchronize() but clears only if `clear`. `done` must
  /// not call the device's blocking functions.
  virtual Status on_reached(QueueId queue, bool clear,
                            std::function<void(const QueueReport&)> done) = 0;
};

}  // namespace ob
