#pragma once
// A queue of an accelerator: a stream, and the host's work before and behind it.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/gpu.hpp"
#include "backend/cuda/stream.hpp"
#include "backend/cuda/stream_context.hpp"
#include "backend/cuda/stream_copies.hpp"
#include "backend/cuda/stream_event.hpp"
#include "device/compute_time.hpp"
#include "device/device_memory.hpp"
#include "device/host_queue.hpp"

namespace ob::cuda {

/// Commands are submitted to the stream one after the other and do not wait for each other. A
/// second queue of the host follows the stream. When the stream has run a command, the second queue
/// releases buffers, sets marks, counts times, and reports to waiting threads. So nothing is
/// reported before the device has confirmed it. An error that the device reports late counts as the
/// failure of the oldest command that was not confirmed.
/// Threads: as HostQueue
class CudaQueue final : public HostQueue {
 public:
  struct Resources {
    Gpu gpu;
    DeviceMemory& memory;
    PinnedPool& pinned;
    std::shared_ptr<EventPool> events;
    const HostRoutines* host;
  };
  /// Errors: device_error
  static Result<std::shared_ptr<CudaQueue>> create(const Resources& resources,
                                                   const std::string& name, const Account& account);
  /// Waits for all submitted commands.
  ~CudaQueue() override;

  StreamContext& context() noexcept { return context_; }
  StreamCopies& copies() noexcept { return copies_; }

  /// Sets the accuracy of commands that are submitted from now on.   Threads: the submitter
  void set_accuracy(Accuracy accuracy);

  /// Runs `work`, a Status(CudaQueue&, QueueReport&) that submits to the stream, in its turn and
  /// with the device current.
  /// Memory: `work` lives until the stream has run its submissions
  /// @param quick true if the work waits for nothing and may run on the submitting thread
  template <class Work>
  void submit_work(bool quick, Work&& work) {
    const TaskManner manner{.cheap = quick && held_ == 0};
    submit(manner, [this, work = std::forward<Work>(work)](QueueReport& report) mutable {
      wait_until_let_go();
      OB_RETURN_IF_ERROR(gpu_.make_current());
      Status status = work(*this, report);
      Status followed = follow(std::move(work));
      return status.ok() ? followed : status;
    });
  }

  /// Submits a computation (a Status()) in a turn of its queue, as part of such work.
  /// Errors: busy; those of compute
  template <class Compute>
  Status compute(ComputeTime& time, const Computation& what, QueueReport& report,
                 Compute&& compute) {
    OB_RETURN_IF_ERROR(begin(time, what, report));
    running_->status = compute();
    return running_->status;
  }

  void record(std::shared_ptr<EventMark> mark) override;
  std::shared_ptr<EventMark> make_mark() const override;
  void wait(std::shared_ptr<EventMark> mark) override;

 protected:
  void reach(bool clear, bool hold, Done done) override;

 private:
  using Event = std::shared_ptr<const StreamEvent>;

  /// The computation of a command, until the stream has run it.
  struct Running {
    std::shared_ptr<FairTurns::Turn> turn;
    ComputeTime& time;
    Computation what;
    Status status;
    Event began;
  };
  /// The remaining record of a submitted command.
  struct Submitted {
    std::uint64_t number;
    Event passed;
    std::unique_ptr<Running> running;  // nullptr: the command computes nothing
    std::vector<std::shared_ptr<DeviceBuffer>> workspace;
  };

  CudaQueue(const Resources& resources, std::unique_ptr<Stream> stream, const std::string& name,
            const Account& account);
  Status begin(ComputeTime& time, const Computation& what, QueueReport& report);
  bool joins_turn(const ComputeTime& time, const Computation& what);
  Status mark(Event& event);
  void catch_up();
  void finish_submitting();
  void wait_until_let_go();
  void pass(const Submitted& submitted, QueueReport& report) const;

  // Passes submitted work to the other queue. Memory: `held` is released when the stream has run
  template <class Held>
  Status follow(Held&& held) {
    Submitted submitted{number(), nullptr, std::move(running_), work_.hand_over()};
    Status marked = mark(submitted.passed);
    follower_.submit({.always = true, .counted = false},
                     [this, submitted = std::move(submitted),
                      held = std::forward<Held>(held)](QueueReport& report) {
                       pass(submitted, report);
                       return Status();
                     });
    return marked;
  }

  const Gpu gpu_;
  const std::shared_ptr<EventPool> events_;
  const std::unique_ptr<Stream> stream_;
  WorkArea work_;
  Handles handles_;
  StreamContext context_;
  StreamCopies copies_;

  // The number of callbacks that have not returned. Nothing is submitted meanwhile.
  std::atomic<unsigned> held_{0};
  std::mutex mutex_;
  std::condition_variable let_go_;

  // The command that is being submitted, and the turn that the last ones share.
  std::unique_ptr<Running> running_;
  std::weak_ptr<FairTurns::Turn> turn_;
  double turn_seconds_ = 0;
  unsigned turn_commands_ = 0;

  HostQueue follower_;  // destroyed first
};

}  // namespace ob::cuda
