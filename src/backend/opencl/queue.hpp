#pragma once
// A queue of a device: a thread of the host, which submits to an OpenCL queue of its own.

#include <memory>
#include <string>
#include <utility>

#include "backend/opencl/copies.hpp"
#include "backend/opencl/queue_context.hpp"
#include "device/compute_time.hpp"
#include "device/device_memory.hpp"
#include "device/host_queue.hpp"

namespace ob::opencl {

/// A command has passed when OpenCL is done with it: then its buffers may go, its errors are known,
/// and whoever waits for it may go on.
/// Threads: as HostQueue
class ClQueue final : public HostQueue {
 public:
  struct Resources {
    const Cl& cl;
    const Accelerator& accelerator;
    const ClMemory& source;
    DeviceMemory& memory;
    const Libraries& libraries;
    const HostRoutines* host;
  };
  /// Errors: device_error
  static Result<std::shared_ptr<ClQueue>> create(const Resources& resources,
                                                 const std::string& name, const Account& account);
  /// Runs what was submitted.
  ~ClQueue();

  QueueContext& context() noexcept { return context_; }
  Copies& copies() noexcept { return copies_; }

  /// Runs `work` (a Status(ClQueue&, QueueReport&)) in its turn, on the queue's thread; waits for
  /// OpenCL after it, whatever it says. So nothing is quick here.
  template <class Work>
  void submit_work(bool /*quick*/, Work&& work) {
    submit({}, [this, work = std::forward<Work>(work)](QueueReport& report) mutable {
      Status status = work(*this, report);
      Status passed = context_.synchronize();
      (void)work_.hand_over();  // the device's again
      return status.ok() ? passed : status;
    });
  }

  /// As part of such work: submits a computation (a Status()) in a turn of its queue.
  /// Errors: busy; those of compute
  template <class Compute>
  Status compute(ComputeTime& time, const Computation& what, QueueReport& report,
                 Compute&& compute) {
    return time.spend(what, report, [&] {
      Status submitted = compute();
      Status passed = context_.synchronize();  // its time is up only then
      return submitted.ok() ? passed : submitted;
    });
  }

 private:
  ClQueue(const Resources& resources, cl_command_queue queue, const std::string& name,
          const Account& account);

  WorkArea work_;
  QueueContext context_;
  Copies copies_;
};

}  // namespace ob::opencl
