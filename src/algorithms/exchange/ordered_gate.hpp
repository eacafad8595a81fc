#pragma once
// A gate that lets numbered tasks of several threads begin in order.

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <set>

#include "algorithms/exchange/checked_wait.hpp"
#include "base/status.hpp"

namespace ob::algorithms {

/// A task may begin when all tasks before it are over, except for the last `width` - 1 of them.
/// Threads: any
class OrderedGate {
 public:
  /// @param width the number of tasks that run at the same time; at least 1
  explicit OrderedGate(std::size_t width) : width_(std::max<std::size_t>(1, width)) {}

  /// Waits until the task may begin.
  /// @param check called about once a second during the wait
  /// Errors: that of abort(); those of check
  Status enter(std::size_t number, const std::function<Status()>& check) {
    std::unique_lock lock(mutex_);
    const auto may_begin = [&] { return !aborted_.ok() || number < over_ + width_; };
    OB_RETURN_IF_ERROR(checked_wait(changed_, lock, may_begin, check));
    return aborted_;
  }
  /// The task is over.
  void leave(std::size_t number) {
    const std::lock_guard lock(mutex_);
    early_.insert(number);
    while (early_.erase(over_) != 0) ++over_;
    changed_.notify_all();
  }
  /// Ends all waiting, with this error. Without memory for its message, with its code only.
  void abort(const Status& why) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      if (aborted_.ok()) aborted_ = why;
    } catch (...) {
      aborted_ = Status(why.code(), {});
    }
    changed_.notify_all();
  }

 private:
  const std::size_t width_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t over_ = 0;         // all tasks before it are over
  std::set<std::size_t> early_;  // tasks behind it that are over already
  Status aborted_;
};

}  // namespace ob::algorithms
