#pragma once

#include <ctime>

#include <cstdint>

namespace ob::overlap {

inline std::int64_t nanoseconds(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

inline std::int64_t now_ns() noexcept { return nanoseconds(CLOCK_MONOTONIC); }
/// Returns the processor time of the calling thread.
inline std::int64_t thread_time_ns() noexcept { return nanoseconds(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace ob::overlap
