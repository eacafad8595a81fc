#pragma once
// An ordered queue whose commands the host's processor runs: of every backend in host memory.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "device/detail/task_ring.hpp"
#include "device/device.hpp"
#include "device/host_event.hpp"
#include "device/inline_task.hpp"

namespace ob {

/// How a command is to be run.
struct TaskManner {
  bool cheap = false;   ///< takes less than about kCheapSeconds: may run on the submitting thread
  bool always = false;  ///< runs even after an earlier command failed
  bool counted = true;  ///< has a number, which failed_command can name
};

/// Runs commands in order: a cheap one at once on the submitting thread if the queue is idle, so
/// that small calls need no hand-over between threads; everything else on the queue's executor
/// thread, which starts when first needed. After a failure commands are skipped until
/// synchronize().
/// Threads: one submitter at a time; commands run on one thread at a time
class HostQueue {
 public:
  /// A hand-over to a sleeping thread and back costs 10 to 100 us; work below that is not worth
  /// one.
  static constexpr double kCheapSeconds = 100e-6;

  /// `name` is the executor thread's, cut to 15 characters.
  explicit HostQueue(std::string name, const Account& account = {})
      : name_(std::move(name)), account_(account) {}
  /// Runs what was submitted, then stops.
  virtual ~HostQueue();
  HostQueue(const HostQueue&) = delete;
  HostQueue& operator=(const HostQueue&) = delete;

  /// Whose work it is.
  const Account& account() const noexcept { return account_; }

  /// Runs `work` (a Status(QueueReport&), which adds its times to the report) in its turn.
  template <class Work>
  void submit(const TaskManner& manner, Work&& work) {
    if (manner.cheap && try_begin()) {
      run(manner, work);
      end();
    } else {
      enqueue(manner, InlineTask(std::forward<Work>(work)));
    }
  }

  /// A command that was found impossible: fails when its turn comes.
  void fail(Status status);

  /// Sets the mark when the queue gets here, even after a failure.   @pre mark is of make_mark()
  virtual void record(std::shared_ptr<EventMark> mark);
  virtual std::shared_ptr<EventMark> make_mark() const { return std::make_shared<EventMark>(); }
  /// Holds the queue until the mark is set; nullptr holds nothing.
  /// @pre mark is of a queue of the same device
  virtual void wait(std::shared_ptr<EventMark> mark);

  /// Waits until the queue gets here; the report since the last synchronize, which it clears.
  QueueReport synchronize();

  /// Calls `done` with the report when the queue gets here, at once if it is idle. What comes
  /// behind runs when `done` has returned, which may use what is in its buffers now.
  void on_reached(bool clear, std::function<void(const QueueReport&)> done) {
    reach(clear, true, std::move(done));
  }

 protected:
  using Done = std::function<void(const QueueReport&)>;
  /// on_reached().   @param hold false: what comes behind need not wait for `done`
  virtual void reach(bool clear, bool hold, Done done);
  /// The number of the command that runs.   Threads: the one that runs it
  std::uint64_t number() const noexcept { return passed_; }

 private:
  // Who may run commands and touch passed_ and report_.
  enum State : std::uint32_t {
    kIdle,          // nobody
    kBusy,          // the submitter or, if draining_, the executor
    kBusyHandOver,  // the submitter, who must wake the executor when done
  };

  bool try_begin() noexcept {
    std::uint32_t idle = kIdle;
    return state_.load(std::memory_order_relaxed) == kIdle &&
           state_.compare_exchange_strong(idle, kBusy, std::memory_order_acquire);
  }
  void end();
  void enqueue(const TaskManner& manner, InlineTask task);
  void start_draining(
      std::unique_lock<std::mutex>& lock);  // @pre lock holds mutex_, state is kBusy
  void drain(std::unique_lock<std::mutex>& lock);
  void execute();  // the executor thread

  template <class Work>
  void run(const TaskManner& manner, Work& work) {
    if (manner.counted) ++passed_;
    if (!manner.always && !report_.status.ok()) return;
    Status status = work(report_);
    if (!status.ok() && report_.status.ok()) {
      report_.status = std::move(status);
      report_.failed_command = passed_;
    }
  }

  const std::string name_;
  const Account account_;
  std::atomic<std::uint32_t> state_{kIdle};
  std::uint64_t passed_ = 0;  // counted commands that were run or skipped
  QueueReport report_;

  std::mutex mutex_;  // of all below
  std::condition_variable wake_;
  detail::TaskRing pending_;
  bool draining_ = false;
  bool stopping_ = false;
  std::thread executor_;
};

}  // namespace ob
