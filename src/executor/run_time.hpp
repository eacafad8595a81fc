#pragma once
// The time that a process has had to work.

#include <sys/types.h>

#include <chrono>

namespace ob::executor {

/// Adds up the time in which another process computed, or all its threads slept. Time in which it
/// only waited for a processor does not count. If nothing is known about the process, all time
/// counts. The time that several threads compute at once counts up to the time that has passed.
/// Threads: one at a time
class RunTime {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RunTime(pid_t process) noexcept;
  /// Returns the time since this object was made. Of the time since the last look, at most kLongest
  /// counts as sleep: nobody knows what the process did in the rest.
  std::chrono::nanoseconds look() noexcept;

 private:
  static constexpr std::chrono::milliseconds kLongest{100};

  const pid_t process_;
  Clock::time_point last_;
  std::chrono::nanoseconds ran_{};  // in the whole life of the process
  std::chrono::nanoseconds had_{};
};

}  // namespace ob::executor
