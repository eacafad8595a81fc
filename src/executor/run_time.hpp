#pragma once
// The time that a process has had to work.

#include <sys/types.h>

#include <chrono>

namespace ob::executor {

/// Adds up the time in which the first thread of another process ran or slept, but not the time in
/// which it waited for a processor. Without /proc, all time counts.
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
  std::chrono::nanoseconds ran_{};  // of the thread, in its whole life
  std::chrono::nanoseconds had_{};
};

}  // namespace ob::executor
