#pragma once
// The time of a pool, as the manager counts it: milliseconds since 1970 that never go back.

#include <cstdint>
#include <optional>

namespace ob::pool {

/// Returns the milliseconds since this machine was started, suspended time included
/// (CLOCK_BOOTTIME). No wall clock is involved, so nobody can set it.
std::int64_t boot_ms() noexcept;

/// Estimates pool time from the manager's answers.   Threads: one at a time
class PoolClock {
 public:
  /// The largest round trip of an answer that is used [ms]. The error is at most a half of it.
  static constexpr std::int64_t kMostRoundTripMs = 1000;
  /// A slower answer replaces an older estimate after this time [ms], because clocks drift: by at
  /// most 500 ppm, which is 15 ms.
  static constexpr std::int64_t kMostAgeMs = 30'000;

  /// Notes an answer that said `pool_ms`. The manager read its clock between the two moments.
  void note(std::int64_t pool_ms, std::int64_t sent_boot_ms, std::int64_t received_boot_ms);

  /// Returns pool time at a moment of boot_ms(), never less than before; empty before the first
  /// usable answer.
  std::optional<std::int64_t> at(std::int64_t boot_ms);
  /// True if the next answer should be one that the manager does not delay.
  bool is_stale(std::int64_t boot_ms) const noexcept;

 private:
  bool known_ = false;
  std::int64_t offset_ms_ = 0;       // pool time less boot time
  std::int64_t round_trip_ms_ = 0;   // of the answer
  std::int64_t noted_ms_ = 0;        // boot time
  std::int64_t latest_ = INT64_MIN;  // that at() has returned
};

}  // namespace ob::pool
