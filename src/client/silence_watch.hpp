#pragma once
// The silence of a daemon, as a client measures it that may itself wait for a core.

#include <algorithm>
#include <chrono>

namespace ob::client {

/// Adds up the time in which a client waited and heard nothing. A thread that wakes late shows that
/// its machine was busy, perhaps with the daemon, or did not run at all, so the daemon gets more
/// time: twice the longest delay (see is_longer_than()). The delays themselves count: bytes that
/// arrived meanwhile are there afterwards.
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
    const Clock::duration delay = std::max(Clock::duration(0), end - planned_end);
    delays_ += delay;
    longest_delay_ = std::max(longest_delay_, delay);
  }

  /// The silence without the delays of this thread; is_longer_than() counts these as well.
  Clock::duration silence() const noexcept { return counted_; }
  /// True if the silence with all delays exceeds `limit` and kGrace times the longest delay. So one
  /// delay alone never ends the wait. The caller looks for bytes that have arrived before it asks.
  bool is_longer_than(Clock::duration limit) const noexcept { return left(limit).count() <= 0; }
  /// The time until is_longer_than(limit); not positive if it is.
  Clock::duration left(Clock::duration limit) const noexcept {
    return limit + kGrace * longest_delay_ - counted_ - delays_;
  }

 private:
  // A daemon on a machine that is as busy as this one is late with a sign, and with the next one.
  static constexpr int kGrace = 2;

  Clock::duration counted_{0};
  Clock::duration delays_{0};
  Clock::duration longest_delay_{0};
};

}  // namespace ob::client
