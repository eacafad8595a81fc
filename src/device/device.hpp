#pragma once
// A device: an ordered-queue machine. Backends implement it for local hardware, and the client
// (client/remote_device) implements it over the wire. Algorithms use this interface only.
//
// Commands of one queue run in order; queues depend on each other through events only. To submit a
// command never waits for its work. An error of submitted work sticks to its queue: later commands
// of the queue are skipped until synchronize() reports the first error and clears it.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/accuracy.hpp"
#include "base/digest.hpp"
#include "base/ids.hpp"
#include "base/layout.hpp"
#include "base/routine_rate.hpp"
#include "base/status.hpp"
#include "device/account.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"
#include "routines/fft.hpp"

namespace ob {

struct DeviceInfo {
  std::string backend;      ///< "cpu", "null", ...
  std::string description;  ///< shown to people: library, threads, core type
  std::uint64_t memory_bytes = 0;
  bool host_visible = false;    ///< host_view() works
  double gflops_double = 0;     ///< measured dgemm rate [GFLOP/s]; 0 if unknown
  std::uint8_t accuracies = 0;  ///< bit i: mode i of Accuracy makes a difference here
  std::uint64_t machine = 0;    ///< of a device behind a daemon: machine_id() there
  /// The processors of its machine on which it computes, as usable_processors() lists them; empty
  /// if it has silicon of its own.
  std::string processors;
  /// A process of each client computes for it: a device error is that of a client's process.
  bool isolated = false;
  /// The rates measured beyond gflops_double, at most kMaxRoutineRates; empty if none were.
  std::vector<RoutineRate> routine_rates;
};

/// Memory of a device in this process. Units: bytes, counts since its creation
struct MemoryUse {
  std::uint64_t used_bytes = 0;
  std::uint64_t idle_bytes = 0;   ///< freed memory that the next allocations reuse
  std::uint64_t allocations = 0;  ///< allocations of sizes that can be reused
  std::uint64_t reused = 0;       ///< the part of `allocations` that found idle memory
};

/// A place inside a buffer.
struct BufferRef {
  BufferId buffer;
  std::uint64_t offset_bytes = 0;
};

/// The place of a buffer in a memory file that another process may map.
struct SegmentView {
  int fd = -1;  ///< owned by the device, valid while the buffer lives
  std::uint64_t offset_bytes = 0;
  std::uint64_t segment_bytes = 0;
};

/// The work of a queue since the last synchronize.
struct QueueReport {
  Status status;
  /// number of the failed command, counted from 1 since the queue was created
  std::uint64_t failed_command = 0;
  std::uint64_t compute_ns = 0;  ///< calls and plan executions
  std::uint64_t plan_ns = 0;     ///< time spent waiting for plans that were not ready
  std::uint64_t waited_ns = 0;   ///< time that computations spent waiting for their turn
};

/// The progress of a queue at a mark.
struct QueueMark {
  QueueReport report;  ///< as that of synchronize(), which still reports all of it
  /// The clock of the device when the queue reached the mark. Only differences between two clocks
  /// of one device have a meaning.
  std::uint64_t clock_ns = 0;
};

class Gate;
class Peering;
struct KernelLaunch;
struct ModuleReport;
struct ModuleSource;

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const noexcept = 0;
  /// Returns the memory in use; zeros if the device does not know.
  virtual MemoryUse memory_use() const { return {}; }
  /// Returns the number of computations that run or wait for their turn; 0 if the device does not
  /// know.
  virtual unsigned turns() const noexcept { return 0; }
  /// Returns the number of processes with clients' work that have ended by themselves or were ended
  /// because of it.
  virtual std::uint64_t executor_deaths() const noexcept { return 0; }

  /// Creates a queue. One thread at a time may use it; all other calls may come from any thread.
  /// @param account the client whose share of the device's time the queue uses
  virtual Result<QueueId> create_queue(const Account& account = {}) = 0;
  /// Destroys a queue after its commands have run.
  virtual Status destroy_queue(QueueId queue) = 0;

  /// Notes that the client of a queue has gone. Its commands need not run; a device that can stop a
  /// computation stops the queue's. Events are recorded all the same.
  virtual Status abandon(QueueId /*queue*/) { return {}; }

  /// Sets the accuracy of calls and executions that are submitted from now on; a new queue computes
  /// as in `standard`. A mode that makes no difference on this device does what `standard` says.
  virtual Status set_accuracy(QueueId /*queue*/, Accuracy /*accuracy*/) { return {}; }

  /// Allocates uninitialised memory, aligned to at least 64 bytes. May wait a few seconds for
  /// commands that still use freed buffers.   Errors: out_of_memory
  /// @param owner the client whose memory it is. Buffers of two sessions never lie in one memory
  /// file; what a user may hold is limited. Account{}: the process itself
  virtual Result<BufferId> allocate(std::uint64_t size_bytes, const Account& owner = {}) = 0;
  /// Waits until allocate() need not wait for commands that still use freed buffers, but no longer
  /// than `longest`. Returns false if they still do then; a device that never waits returns true.
  virtual bool await_room(std::uint64_t /*size_bytes*/, std::chrono::milliseconds /*longest*/) {
    return true;
  }
  /// Frees a buffer. Submitted commands may still use it; its memory is released after them.
  virtual Status free(BufferId buffer) = 0;
  /// Returns the buffer's memory if this process can access it (info().host_visible), else nullptr.
  /// Access it only when no submitted command may still use it.
  virtual std::byte* host_view(BufferId buffer) noexcept = 0;
  /// Returns the memory file of a buffer.   Errors: unsupported if it does not lie in a file, or if
  /// other processes must not get the file (some of those that small buffers share)
  virtual Result<SegmentView> segment(BufferId buffer) = 0;

  /// Allocates host memory that write() and read() copy at full speed, for elements on their way
  /// through this process.
  /// Memory: uninitialised, aligned to 64 bytes; must be released before the device
  /// Errors: out_of_memory
  virtual Result<std::shared_ptr<std::byte>> staging(std::uint64_t size_bytes);

  /// Copies `source`'s packed elements to `region`.
  /// Memory: source must stay unchanged until the queue has run the command
  virtual Status write(QueueId queue, BufferId buffer, const Region& region,
                       const Layout& source) = 0;
  /// Copies `region`'s elements to `destination`.
  /// Memory: valid once the queue has run the command; undefined on failure
  virtual Status read(QueueId queue, BufferId buffer, const Region& region,
                      const Layout& destination) = 0;
  /// Copies between buffers of this device. Errors: as write(); invalid_argument if the packed
  /// bytes differ, or if the regions overlap (overlap() in base/overlap.hpp)
  virtual Status copy(QueueId queue, BufferId source, const Region& from, BufferId destination,
                      const Region& to) = 0;

  /// Sets every element of a full region to `element`, which is copied.
  /// @param element as many bytes as an element of the region has: 1, 2, 4, 8 or 16; in the byte
  /// order of this process
  /// Errors: as write(); invalid_argument for a triangle or another size
  virtual Status fill(QueueId queue, BufferId buffer, const Region& region,
                      std::span<const std::byte> element) = 0;

  /// Returns the interface for direct copies to and from other devices, or nullptr if there is
  /// none.
  virtual Peering* peering() noexcept { return nullptr; }

  /// Computes the digests of `region`, one for each of Chunks(region, chunk_bytes). The work starts
  /// without waiting for synchronize().
  /// Memory: valid once the queue has run the command; undefined on failure
  /// Errors: unsupported if the device cannot; invalid_argument if digests.size() is not the number
  ///         of chunks
  virtual Status digest(QueueId queue, BufferId buffer, const Region& region,
                        std::uint64_t chunk_bytes, std::span<Digest> digests) = 0;

  /// Runs a BLAS or LAPACK routine; memory operands are Argument::device.
  /// Errors: invalid_argument if illegal or out of a buffer's bounds; unsupported if the backend
  ///         lacks it; busy if it would delay others for too long
  virtual Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) = 0;

  /// Makes a plan before the data arrive; may take long. Executions of the plan, on any queue, wait
  /// for it.
  /// @param account the client whose turn it is; the plans of all clients are made in fair turns
  virtual Result<PlanId> make_plan(const FftPlan& plan, const Account& account = {}) = 0;
  virtual Status destroy_plan(PlanId plan) = 0;
  /// Returns an upper estimate of the host memory that such a plan takes beside device memory
  /// [bytes]; 0 if it cannot be made.
  virtual std::uint64_t plan_host_bytes(const FftPlan& /*plan*/) const { return 0; }
  /// Transforms packed input to packed output.
  /// Errors: busy, as call(); invalid_argument if the arrays overlap other than planned
  virtual Status execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) = 0;

  /// Checks that kernels of programs run here. The first call may open libraries.
  /// Errors: unsupported, with what is to be installed
  virtual Status runs_kernels();
  /// Returns the kinds of variants that the device takes: bit i for SourceKind i; 0 if it runs no
  /// kernels.
  virtual std::uint32_t kernel_kinds() { return 0; }
  /// Compiles a module of kernels in the background. Launches of its kernels wait for it.
  /// @param built is called once, with the compiler's words, on a thread of the device or this one;
  ///        it must not call blocking functions of the device
  /// @param account the client whose turn it is
  /// Errors: invalid_argument for sizes, kinds or options that are not accepted; those of
  ///         runs_kernels(); out_of_memory if there are too many modules
  virtual Result<ModuleId> load_module(ModuleSource source,
                                       std::function<void(const ModuleReport&)> built,
                                       const Account& account = {});
  /// Ends a module. Submitted launches still run, if it was compiled before.
  virtual Status unload_module(ModuleId module);
  /// Runs a kernel (device/kernels/launch.hpp).
  /// Errors, in the command's turn: build_failed; kernel_fault; invalid_argument if the arguments
  ///         do not fit the kernel or leave their buffers; busy, as call()
  virtual Status launch(QueueId queue, const KernelLaunch& launch);

  virtual Result<EventId> create_event() = 0;
  virtual Status destroy_event(EventId event) = 0;
  /// Marks the event done when the queue reaches this command.
  virtual Status record(QueueId queue, EventId event) = 0;
  /// Holds the queue until the last record() submitted so far is done; does nothing without one.
  virtual Status wait(QueueId queue, EventId event) = 0;
  /// Holds the queue until the gate is open. If its outcome is a failure, this command fails with
  /// it. Errors: unsupported if queues of the device wait for events only
  virtual Status hold(QueueId queue, std::shared_ptr<const Gate> gate);

  /// Waits for the queue, reports its work since the last synchronize, and clears the error.
  virtual QueueReport synchronize(QueueId queue) = 0;
  /// Waits for the queue, but not beyond the deadline. Returns the report, as synchronize(), and
  /// clears it only if `clear`; returns nothing if the deadline passes first.
  virtual std::optional<QueueReport> await(QueueId queue, bool clear,
                                           std::chrono::steady_clock::time_point deadline);
  /// Calls `done` when the queue reaches this command, on a thread of the device or, if the queue
  /// is idle, at once on this one. The report is that of synchronize() and is cleared only if
  /// `clear`. `done` must not call blocking functions of the device.
  virtual Status on_reached(QueueId queue, bool clear,
                            std::function<void(const QueueReport&)> done) = 0;
  /// Calls `done` when the queue reaches this command, as on_reached(), and clears nothing.
  virtual Status mark(QueueId queue, std::function<void(const QueueMark&)> done);
};

}  // namespace ob
