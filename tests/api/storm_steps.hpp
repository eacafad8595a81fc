#pragma once
// The length of the storms of the device API.

#include <cstddef>
#include <cstdlib>

namespace ob::test {

/// Returns the steps of each thread: OUTBOARD_STORM_STEPS, or a few.
inline std::size_t storm_steps() {
  const char* wanted = std::getenv("OUTBOARD_STORM_STEPS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 300;
}

}  // namespace ob::test
