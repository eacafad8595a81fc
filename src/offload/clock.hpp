#pragma once
// The clock of all measurements.

#include <chrono>
#include <cstdint>

namespace ob::offload {

/// Nanoseconds of the steady clock.   Threads: any
inline std::uint64_t now_ns() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

inline double seconds_since(std::uint64_t began_ns) noexcept {
  return static_cast<double>(now_ns() - began_ns) * 1e-9;
}

}  // namespace ob::offload
