#include "pool/pool_time.hpp"

#include <algorithm>
#include <ctime>

namespace ob::pool {

std::int64_t boot_ms() noexcept {
  timespec now = {};
  (void)::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void PoolClock::note(std::int64_t pool_ms, std::int64_t sent_boot_ms,
                     std::int64_t received_boot_ms) {
  const std::int64_t round_trip_ms = received_boot_ms - sent_boot_ms;
  if (round_trip_ms < 0 || round_trip_ms > kMostRoundTripMs) return;
  if (known_ && round_trip_ms > round_trip_ms_ && !is_stale(received_boot_ms)) return;
  known_ = true;
  offset_ms_ = pool_ms - (sent_boot_ms + round_trip_ms / 2);
  round_trip_ms_ = round_trip_ms;
  noted_ms_ = received_boot_ms;
}

std::optional<std::int64_t> PoolClock::at(std::int64_t boot_ms) {
  if (!known_) return std::nullopt;
  latest_ = std::max(latest_, boot_ms + offset_ms_);
  return latest_;
}

bool PoolClock::is_stale(std::int64_t boot_ms) const noexcept {
  return !known_ || boot_ms - noted_ms_ >= kMostAgeMs;
}

}  // namespace ob::pool
