#pragma once
// The silence of a daemon, as a client measures it that may itself wait for a core.

#include <algorithm>
#include <chrono>

namespace ob::client {

/// Adds up the time in which a client waited and heard nothing. A wait counts up to its planned
/// end only: if this thread woke late, it could not have heard the daemon in the rest. A thread
/// that wakes late also shows that the machine is busy, perhaps with the daemon, so the daemon gets
/// more time (see is_longer_than()).
/// Threads: owner only
class SilenceWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// The longest wait. A longer one would hide a delay of this thread, and a report of another
  /// connection.
  static constexpr std::chrono::milliseconds kLongestWait{250};

  /// Begins again: the daemon has sent something.
  void heard() noexcept { *this = {}; }
  /// Counts a wait without an answer, which was to end at `planned_end` and ended at `end`.
  void waited(Clock::time_point begin, Clock::time_point planned_end,
              Clock::time_point end) noexcept {
    counted_ += std::max(Clock::duration(0), std::min(end, planned_end) - begin);
    longest_delay_ = std::max(longest_delay_, end - planned_end);
  }

  /// The time that counts.
  Clock::duration silence() const noexcept { return counted_; }
  /// True if the silence exceeds `limit` and kGrace times the longest delay of this thread. The
  /// caller looks for bytes that have arrived before it asks.
  bool is_longer_than(Clock::duration limit) const noexcept { return left(limit).count() <= 0; }
  /// The time until is_longer_than(limit); not positive if it is.
  Clock::duration left(Clock::duration limit) const noexcept {
    return limit + kGrace * longest_delay_ - counted_;
  }

 private:
  // A daemon on a machine that is as busy as this one is late with a sign, and with the next one.
  static constexpr int kGrace = 2;

  Clock::duration counted_{0};
  Clock::duration longest_delay_{0};
};

}  // namespace ob::client
