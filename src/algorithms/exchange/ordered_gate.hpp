#pragma once
// Numbered things that several threads do in order.

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <set>

#include "algorithms/exchange/checked_wait.hpp"
#include "base/status.hpp"

namespace ob::algorithms {

/// A number may begin when all but the last `width` - 1 before it are over.   Threads: any
class OrderedGate {
 public:
  /// @param width how many go on at the same time; at least 1
  explicit OrderedGate(std::size_t width) : width_(std::max<std::size_t>(1, width)) {}

  /// @param look called now and then while others are waited for
  /// Errors: that of abort(); those of look
  Status enter(std::size_t number, const std::function<Status()>& look) {
    std::unique_lock lock(mutex_);
    const auto may_begin = [&] { return !aborted_.ok() || number < over_ + width_; };
    OB_RETURN_IF_ERROR(checked_wait(changed_, lock, may_begin, look));
    return aborted_;
  }
  void leave(std::size_t number) {
    const std::lock_guard lock(mutex_);
    early_.insert(number);
    while (early_.erase(over_) != 0) ++over_;
    changed_.notify_all();
  }
  /// Ends all waiting.
  void abort(const Status& why) {
    const std::lock_guard lock(mutex_);
    if (aborted_.ok()) aborted_ = why;
    changed_.notify_all();
  }

 private:
  const std::size_t width_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t over_ = 0;         // all before it are
  std::set<std::size_t> early_;  // that are, behind one that is not
  Status aborted_;
};

}  // namespace ob::algorithms
