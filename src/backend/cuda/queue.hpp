#pragma once
// A queue of an accelerator: a thread of the host, which submits to a stream of its own.

#include <memory>
#include <string>
#include <utility>

#include "backend/cuda/device_memory.hpp"
#include "backend/cuda/gpu.hpp"
#include "backend/cuda/stream.hpp"
#include "backend/cuda/stream_context.hpp"
#include "backend/cuda/stream_copies.hpp"
#include "device/host_queue.hpp"

namespace ob::cuda {

/// A command has passed when the stream is done with it: then its buffers may go, its errors are
/// known, and whoever waits for it may go on.
/// Threads: as HostQueue
class CudaQueue final : public HostQueue {
 public:
  struct Resources {
    Gpu gpu;
    DeviceMemory& memory;
    PinnedPool& pinned;
    const HostRoutines* host;
  };
  /// Errors: device_error
  static Result<std::shared_ptr<CudaQueue>> create(const Resources& resources,
                                                   const std::string& name, const Account& account);
  /// Runs what was submitted.
  ~CudaQueue();

  StreamContext& context() noexcept { return context_; }
  StreamCopies& copies() noexcept { return copies_; }

  /// For what is submitted from now on.   Threads: the submitter
  void set_accuracy(Accuracy accuracy) noexcept { accuracy_ = accuracy; }
  Accuracy accuracy() const noexcept { return accuracy_; }

  /// Runs `work` (a Status(CudaQueue&, QueueReport&)) in its turn, on the queue's thread, with the
  /// device current; waits for the stream after it, whatever it says.
  template <class Work>
  void submit_work(Work&& work) {
    submit({}, [this, work = std::forward<Work>(work)](QueueReport& report) mutable {
      OB_RETURN_IF_ERROR(gpu_.make_current());
      Status status = work(*this, report);
      Status passed = context_.synchronize();
      work_.reset();
      return status.ok() ? passed : status;
    });
  }

 private:
  CudaQueue(const Resources& resources, std::unique_ptr<Stream> stream, const std::string& name,
            const Account& account);

  const Gpu gpu_;
  const std::unique_ptr<Stream> stream_;  // goes last
  WorkArea work_;
  Handles handles_;
  StreamContext context_;
  StreamCopies copies_;
  Accuracy accuracy_ = Accuracy::standard;
};

}  // namespace ob::cuda
