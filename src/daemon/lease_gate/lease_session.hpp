#pragma once
// A session that a lease has opened, as its commands see it.

#include <atomic>
#include <cstdint>

#include "base/ids.hpp"

namespace ob::daemon {

/// The number of a session at the gate. It is never used again.
using LeaseSessionId = Id<struct LeaseSessionTag>;

/// The part of an admitted session that commands read and write, without a lock.   Threads: any
class LeaseSession {
 public:
  /// False as soon as the session is cut off. It stays so.
  bool valid() const noexcept { return valid_.load(std::memory_order_acquire); }

  /// Counts a command; returns false, and counts nothing, if none may start any more. Either this
  /// returns false, or the gate sees the command: both sides write first and read then.
  bool begin_command() noexcept {
    running_.fetch_add(1);
    if (!valid_.load()) {
      running_.fetch_sub(1);
      return false;
    }
    used_.store(true, std::memory_order_relaxed);
    return true;
  }
  /// @pre begin_command() returned true
  void end_command() noexcept { running_.fetch_sub(1); }

  /// Returns the number of commands that run. If 0 after the session was cut off, none starts.
  std::uint32_t running() const noexcept { return running_.load(); }

 private:
  friend class LeaseGate;
  void cut_off() noexcept { valid_.store(false); }
  /// Returns whether a command ran since the last call, or runs now.
  bool take_use() noexcept {
    const bool runs = running() > 0;  // then it also ran in the time until the next call
    return used_.exchange(runs, std::memory_order_relaxed) || runs;
  }

  std::atomic<bool> valid_{true};
  std::atomic<bool> used_{false};
  std::atomic<std::uint32_t> running_{0};
};

}  // namespace ob::daemon
