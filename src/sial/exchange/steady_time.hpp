#pragma once
// The clock of reports and traces. Times of one process are compared with each other.

#include <chrono>
#include <cstdint>

namespace ob::sial {

/// Returns the time of the steady clock [ns].
inline std::int64_t steady_ns() noexcept {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

}  // namespace ob::sial
