#pragma once
// The commands of a queue that wait at gates.

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "device/gate.hpp"

namespace ob::daemon {

/// Threads: any
class QueueHolds {
 public:
  static constexpr std::uint64_t kNone = UINT64_MAX;

  void add(std::uint64_t command, std::shared_ptr<const Gate> gate) {
    const std::lock_guard lock(mutex_);
    holds_.emplace_back(command, std::move(gate));
    last_ = command;
  }
  /// True if this command waits, or waited, at the gate that was added last.
  bool is_last(std::uint64_t command) const {
    const std::lock_guard lock(mutex_);
    return command == last_;
  }
  /// Returns the first command that waits at a closed gate; kNone if none does.
  std::uint64_t first() const {
    const std::lock_guard lock(mutex_);
    while (!holds_.empty() && holds_.front().second->is_open()) holds_.pop_front();
    return holds_.empty() ? kNone : holds_.front().first;
  }
  /// True if a command waits at a closed gate.
  bool any() const { return first() != kNone; }

 private:
  mutable std::mutex mutex_;
  mutable std::deque<std::pair<std::uint64_t, std::shared_ptr<const Gate>>> holds_;
  std::uint64_t last_ = kNone;
};

}  // namespace ob::daemon
