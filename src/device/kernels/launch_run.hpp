#pragma once
// Launches that follow each other in a queue.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/status.hpp"
#include "device/host_queue.hpp"
#include "device/kernels/kernel_modules.hpp"

namespace ob {

/// Launches that no other command of their queue separates. The one whose turn has come also runs
/// launches behind it, so that a process that runs kernels gets several of them with one request.
class LaunchRun {
 public:
  struct Entry {
    std::unique_ptr<PendingLaunch> launch;
    std::optional<Status> outcome;  ///< of a launch that has run
  };
  /// Launches that ran together.
  struct Request {
    Status status;                  ///< of the last of them
    PendingLaunch* last = nullptr;  ///< the one that ran last, or failed
  };
  using GoesAlong = std::function<bool(const PendingLaunch&)>;

  /// Threads: the submitter of the queue
  std::shared_ptr<Entry> append(std::unique_ptr<PendingLaunch> launch);
  /// Runs the launch of this entry and as many behind it as the runner takes with it. Notes the
  /// outcomes of those that ran.
  /// @param goes_along says of a prepared launch whether it may run in the turn of another one
  /// Threads: the one that runs the commands of the queue
  /// @pre the launch is prepared and has no outcome
  Request run(const std::shared_ptr<Entry>& first, HostQueue& queue, const KernelCaller* caller,
              const GoesAlong& goes_along);

 private:
  std::vector<std::shared_ptr<Entry>> from(const std::shared_ptr<Entry>& first, std::size_t most);

  std::size_t next_most_ = 4;  // launches of the next request; fewer if they take long
  std::mutex mutex_;           // guards all below
  std::deque<std::weak_ptr<Entry>> entries_;  // commands own them, so skipped ones go at once
};

/// A queue that knows the latest launches that were submitted to it.
class LaunchQueue final : public HostQueue {
 public:
  using HostQueue::HostQueue;

  struct Place {
    std::shared_ptr<LaunchRun> run;
    std::shared_ptr<LaunchRun::Entry> entry;
  };
  /// Puts a launch into the run of the one before it, or into a new run if another command was
  /// submitted in between.
  /// Threads: the submitter, whose next command is that of the launch
  Place place(std::unique_ptr<PendingLaunch> launch);

 private:
  std::shared_ptr<LaunchRun> run_;
  std::uint64_t submitted_with_it_ = 0;
};

}  // namespace ob
