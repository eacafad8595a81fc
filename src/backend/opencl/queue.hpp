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

/// A command is complete when OpenCL has finished it. Then its buffers are released, its errors are
/// known, and waiting threads continue.
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
  /// Runs all submitted commands.
  ~ClQueue();

  QueueContext& context() noexcept { return context_; }
  Copies& copies() noexcept { return copies_; }

  /// Runs `work`, a Status(ClQueue&, QueueReport&), in its turn on the queue's thread, and waits
  /// for OpenCL afterwards, even after an error. So no command of this queue is quick.
  template <class Work>
  void submit_work(bool /*quick*/, Work&& work) {
    submit({}, [this, work = std::forward<Work>(work)](QueueReport& report) mutable {
      Status status = work(*this, report);
      Status passed = context_.synchronize();
      (void)work_.hand_over();  // returns the memory to the device
      return status.ok() ? passed : status;
    });
  }

  /// Submits a computation (a Status()) in a turn of its queue, as part of such work.
  /// Errors: busy; those of compute
  template <class Compute>
  Status compute(ComputeTime& time, const Computation& what, QueueReport& report,
                 Compute&& compute) {
    return time.spend(what, report, [&] {
      Status submitted = compute();
      Status passed = context_.synchronize();  // the computation ends here
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
