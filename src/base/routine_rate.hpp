#pragma once
// These are the rates that a device tells beyond that of matrix products.

#include <cstddef>
#include <cstdint>

namespace ob {

/// Routines that a device computes at about the same rate. The numbers travel (docs/wire.md).
enum class RateFamily : std::uint16_t {
  none = 0,
  lu = 1,               ///< measured with dgetrf
  cholesky = 2,         ///< dpotrf
  qr = 3,               ///< dgeqrf
  symmetric_eigen = 4,  ///< dsyevd, with vectors
  singular_values = 5,  ///< dgesdd, with the first vectors
  general_eigen = 6,    ///< dgeev, with right vectors
  transform = 7,        ///< complex transforms of squares, in double precision
};

/// The measured rate of one call of a family on a device.
struct RoutineRate {
  RateFamily family = RateFamily::none;  ///< readers ignore values that they do not know
  double flop = 0;                       ///< the work of that call, finite and above 0
  double gflops = 0;                     ///< its rate, finite and above 0
};

inline constexpr std::size_t kMaxRoutineRates = 64;  ///< of one device

}  // namespace ob
