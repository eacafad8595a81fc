#pragma once
// A session that the gate has admitted, as its commands see it.

#include <atomic>
#include <cstdint>

#include "base/ids.hpp"
#include "base/status.hpp"

namespace ob::daemon {

/// The number of a session at the gate. It is never used again.
using LeaseSessionId = Id<struct LeaseSessionTag>;

/// The part of an admitted session that commands read and write, without a lock.   Threads: any
class LeaseSession {
 public:
  /// @param leased false: it has no lease (serve --without-lease idle)
  explicit LeaseSession(bool leased = true) noexcept : leased_(leased) {}

  bool leased() const noexcept { return leased_; }
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

  /// Returns what the client is told after the session was cut off.
  Status over() const {
    return {Code::fenced,
            leased_ ? "the lease of this session is over (ask the pool for another)"
                    : "this session is over (it had no lease, and its device was given to one or "
                      "closed) connect again later, or run with --pool"};
  }

 private:
  friend class LeaseGate;
  void cut_off() noexcept { valid_.store(false); }
  /// Returns whether a command ran since the last call, or runs now.
  bool take_use() noexcept {
    const bool runs = running() > 0;  // then it also ran in the time until the next call
    return used_.exchange(runs, std::memory_order_relaxed) || runs;
  }

  const bool leased_;
  std::atomic<bool> valid_{true};
  std::atomic<bool> used_{false};
  std::atomic<std::uint32_t> running_{0};
};

}  // namespace ob::daemon
