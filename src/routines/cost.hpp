#pragma once
// The cost of a call, independent of where it runs.

#include "routines/descriptor.hpp"

namespace ob {

/// Operations and traffic of a call. Each element that travels counts once: a triangle is half a
/// matrix, C with beta = 0 is not sent, and operands that a call destroys are not returned.
/// Units: floating-point operations as the row counts them; bytes
struct Cost {
  double flop = 0;
  double bytes_to = 0;
  double bytes_from = 0;
};

/// Returns the cost of a call.   @param arguments those of a legal call
Cost cost_of(const Descriptor& routine, const Argument* arguments) noexcept;

}  // namespace ob
