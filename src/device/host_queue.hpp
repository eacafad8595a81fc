#pragma once
// An ordered queue whose commands run on threads of the host.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/contained.hpp"
#include "device/detail/task_ring.hpp"
#include "device/device.hpp"
#include "device/gate.hpp"
#include "device/host_event.hpp"
#include "device/inline_task.hpp"

namespace ob {

/// The way in which a command runs.
struct TaskManner {
  bool cheap = false;   ///< takes less than about kCheapSeconds: may run on the submitting thread
  bool always = false;  ///< runs even after an earlier command failed
  bool counted = true;  ///< has a number, which failed_command can name
};

/// Runs commands in order. A cheap command runs at once on the submitting thread if the queue is
/// idle, so that small calls do not change threads. All others run on the queue's worker thread,
/// which starts when it is first needed. A command that throws fails. After a failure, commands are
/// skipped until synchronize().
/// Threads: one submitter at a time; commands run on one thread at a time
class HostQueue {
 public:
  /// To wake another thread and wait for it costs 10 to 100 us; shorter work runs at once.
  static constexpr double kCheapSeconds = 100e-6;

  /// @param name that of the worker thread, cut to 15 characters
  explicit HostQueue(std::string name, const Account& account = {})
      : name_(std::move(name)), account_(account) {}
  /// Runs all submitted commands, then stops the worker.
  virtual ~HostQueue();
  HostQueue(const HostQueue&) = delete;
  HostQueue& operator=(const HostQueue&) = delete;

  /// Notes that nobody waits for the queue's work any more. Commands that have not begun are
  /// skipped; those of devices that can stop a computation end soon.   Threads: any
  void abandon() noexcept { abandoned_.store(true, std::memory_order_relaxed); }
  bool abandoned() const noexcept { return abandoned_.load(std::memory_order_relaxed); }

  /// Returns the client that the queue works for.
  const Account& account() const noexcept { return account_; }

  /// Returns the number of commands that were submitted, whether or not they are counted.
  std::uint64_t submitted() const noexcept { return submitted_.load(std::memory_order_relaxed); }

  /// Submits `work`, a Status(QueueReport&) that adds its times to the report.
  template <class Work>
  void submit(const TaskManner& manner, Work&& work) {
    submitted_.store(submitted() + 1, std::memory_order_relaxed);  // one submitter at a time
    if (manner.cheap && try_begin()) {
      run(manner, work);
      end();
    } else {
      enqueue(manner, InlineTask(std::forward<Work>(work)));
    }
  }

  /// Submits a command that was found impossible: it fails in its turn.
  void fail(Status status);

  /// Sets the mark when the queue reaches this command, even after a failure.
  /// @param mark made by make_mark()
  /// @pre mark != nullptr
  virtual void record(std::shared_ptr<EventMark> mark);
  virtual std::shared_ptr<EventMark> make_mark() const { return std::make_shared<EventMark>(); }
  /// Holds the queue until the mark is set; nullptr holds nothing.
  /// @param mark made by a queue of the same device
  virtual void wait(std::shared_ptr<EventMark> mark);

  /// Holds the queue until the gate is open, or the queue abandoned.   @pre gate != nullptr
  void hold(std::shared_ptr<const Gate> gate);

  /// Waits until the queue is empty; returns the report since the last synchronize and clears it.
  QueueReport synchronize();

  /// Calls `done` with the report when the queue reaches this command, at once if it is idle. Later
  /// commands run after `done` has returned, so that it may use the buffers' present contents.
  void on_reached(bool clear, std::function<void(const QueueReport&)> done) {
    reach(clear, true, std::move(done));
  }

 protected:
  using Done = std::function<void(const QueueReport&)>;
  /// Implements on_reached().   @param hold false: later commands need not wait for `done`
  virtual void reach(bool clear, bool hold, Done done);
  /// Returns the number of the running command.   Threads: the one that runs it
  std::uint64_t number() const noexcept { return passed_; }

 private:
  // The thread that may run commands and access passed_ and report_.
  enum State : std::uint32_t {
    kIdle,          // nobody
    kBusy,          // the submitter or, if draining_, the worker
    kBusyHandOver,  // the submitter, who must wake the worker when done
  };

  bool try_begin() noexcept {
    std::uint32_t idle = kIdle;
    return state_.load(std::memory_order_relaxed) == kIdle &&
           state_.compare_exchange_strong(idle, kBusy, std::memory_order_acquire);
  }
  void end();
  void enqueue(const TaskManner& manner, InlineTask task);
  // Lets the worker run the pending commands.   @pre lock.owns_lock() && state_ != kIdle
  void start_draining(std::unique_lock<std::mutex>& lock);
  void drain(std::unique_lock<std::mutex>& lock);
  void work();  // the worker thread

  // A skipped command counts as failed: an answer that is sent all the same must not say `ok`.
  bool skips(const TaskManner& manner) const noexcept { return !manner.always && abandoned(); }

  template <class Work>
  void run(const TaskManner& manner, Work& work) {
    if (manner.counted) ++passed_;
    if (!manner.always && !report_.status.ok()) return;
    Status status = skips(manner) ? Status(Code::busy, "skipped (the client has gone)")
                                  : contained([&] { return work(report_); });
    if (!status.ok() && report_.status.ok()) {
      report_.status = std::move(status);
      report_.failed_command = passed_;
    }
  }

  const std::string name_;
  const Account account_;
  std::atomic<bool> abandoned_{false};
  std::atomic<std::uint32_t> state_{kIdle};
  std::atomic<std::uint64_t> submitted_{0};
  std::uint64_t passed_ = 0;  // counted commands that were run or skipped
  QueueReport report_;

  std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  detail::TaskRing pending_;
  bool draining_ = false;
  bool stopping_ = false;
  std::thread worker_;
};

}  // namespace ob
