#pragma once
// What a device tells about its speed beyond the rate of matrix products.

#include <cstddef>
#include <cstdint>

namespace ob {

/// The measured rate of a family of routines on a device.
struct RoutineRate {
  std::uint16_t family = 0;  ///< RateFamily (routines/rate_family.hpp); others are ignored
  double flop = 0;           ///< the work of the call that was measured
  double gflops = 0;         ///< its rate, finite and above 0
};

inline constexpr std::size_t kMaxRoutineRates = 64;  ///< of one device

}  // namespace ob
